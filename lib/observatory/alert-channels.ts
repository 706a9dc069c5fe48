import type { Context } from 'hono';
import * as z from 'zod';
import { listChannels } from '../alerts/channels/list-channels.ts';
import { openAlertChannels } from '../alerts/channels/open-channels.ts';
import { linkToIncidents } from '../alerts/channels/page-link.ts';
import { readStoredChannels, storeChannel } from '../alerts/channels/stored-channels.ts';
import { tryChannel } from '../alerts/deliveries/try-channel.ts';
import type { AlertChannel } from '../channels/channel.ts';
import { channelKinds } from '../channels/kinds.ts';
import { findMissingVariables } from '../config/features.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { removeAlertChannel } from '../records/alerts/alert-channels.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';
import { requireOwner } from './require-owner.ts';

const common = { ...observatoryRoute, tag: 'Alert channels', access: 'user' } as const;

const MAX_BYTES = 8 * 1024;
const MAX_ADDRESS = 2_000;

const newName = z
  .string()
  .regex(/^[A-Za-z0-9][\w .-]{0,39}$/, 'must have 1 to 40 letters, digits, spaces or . _ -')
  .meta({ example: 'team' });
const knownName = z
  .string()
  .max(100)
  .regex(/^[^\0]*$/, 'must not contain NUL')
  .meta({ description: 'Name of a channel.' });

const channel = z
  .object({
    name: z.string(),
    kind: z.string().meta({ example: 'slack' }),
    place: z.string().meta({ description: 'The host, or a shortened mail address.' }),
    source: z
      .enum(['variable', 'page'])
      .meta({ description: 'Whether it is set by ALERT_CHANNELS or was added here.' }),
    fault: z.string().nullable().meta({
      description: 'Why nothing can be sent through it, if known; otherwise null.',
    }),
    created_by: z
      .string()
      .nullable()
      .meta({ description: 'Null for a channel of ALERT_CHANNELS.' }),
    created_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AlertChannel' });
const channelKind = z
  .object({
    kind: z.string().meta({ example: 'slack' }),
    label: z.string().meta({ description: 'Its name for people.', example: 'Slack' }),
    example: z.string().meta({ description: 'An address, with placeholders.' }),
  })
  .meta({ id: 'AlertChannelKind' });
const named = z.object({ name: z.string() }).meta({ id: 'AlertChannelName' });

const notOwner = refused('Only AUTH_USERNAME manages channels.');
const unknown = refused('There is no such channel.');

/** GET and POST /alert-channels, DELETE /alert-channels/:name, POST /alert-channels/:name/test. */
export const alertChannelsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/alert-channels',
      summary: 'List the alert channels without their addresses, as AUTH_USERNAME',
      responses: {
        200: wrapped(
          'The channels.',
          z.object({
            may_add: z.boolean(),
            why_not: z
              .string()
              .nullable()
              .meta({ description: 'Why no channel can be added here; null if one can.' }),
            channels: z.array(channel),
            kinds: z.array(channelKind).meta({ description: 'Every kind of channel.' }),
          }),
        ),
        403: notOwner,
      },
    },
    async (_input, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'channels');
      const { config, db } = deps;
      const missing = findMissingVariables('channelsOfPage', config);
      return sendData(c, 'Read the channels', {
        may_add: missing.length === 0,
        why_not: missing.length === 0 ? null : `${missing.join(', ')} not set`,
        channels: await listChannels(config, db),
        kinds: channelKinds.map(({ kind, label, example }) => ({ kind, label, example })),
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/alert-channels',
      summary: 'Add an alert channel, as AUTH_USERNAME',
      description: 'The address is stored encrypted and never returned.',
      body: {
        encoding: 'json',
        schema: z
          .object({
            name: newName,
            address: z.string().min(1).max(MAX_ADDRESS).meta({
              description: 'As in ALERT_CHANNELS: `ntfy://ntfy.example.com/topic`.',
              format: 'password',
            }),
          })
          .meta({ id: 'NewAlertChannel' }),
        maxBytes: MAX_BYTES,
      },
      responses: {
        201: wrapped('The channel.', named),
        403: notOwner,
        409: refused('The name is taken, or there are 20 already.'),
        503: refused('No database, or CREDENTIALS_ENCRYPTION_KEY is not set.'),
      },
    },
    async ({ body: { name, address } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'channels');
      const given = { name: name.trim(), address: address.trim(), createdBy: c.get('user') };
      await storeChannel(deps, given);
      logChange(c, deps, 'an alert channel was added', given.name);
      return sendData(c, 'Added the channel', { name: given.name }, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/alert-channels/:name',
      summary: 'Remove an alert channel that was added here, as AUTH_USERNAME',
      params: z.object({ name: knownName }),
      responses: {
        200: wrapped('The removed channel.', named),
        403: notOwner,
        404: unknown,
        409: refused('The channel is set by ALERT_CHANNELS.'),
      },
    },
    async ({ params: { name } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'channels');
      if (deps.config.ALERT_CHANNELS.some((own) => own.name === name)) {
        throw new AppError('CONFLICT', `channel ${name} is set by ALERT_CHANNELS: change it there`);
      }
      const found = (await readStoredChannels(deps)).find((stored) => stored.name === name);
      const isRemoved = found !== undefined && (await removeAlertChannel(deps.db, found.id));
      if (!isRemoved) throw new AppError('NOT_FOUND', 'there is no such channel');
      logChange(c, deps, 'an alert channel was removed', name);
      return sendData(c, 'Removed the channel', { name });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/alert-channels/:name/test',
      summary: 'Send a test message through an alert channel, as AUTH_USERNAME',
      description: 'What a service answers is shown only if it is a public one, such as Slack.',
      params: z.object({ name: knownName }),
      responses: {
        200: wrapped(
          'Whether it was sent.',
          z.object({
            name: z.string(),
            sent: z.boolean(),
            reason: z
              .string()
              .nullable()
              .meta({ description: 'Why it was not sent; null if it was.' }),
          }),
        ),
        403: notOwner,
        404: unknown,
      },
    },
    async ({ params: { name } }, deps: ObservatoryDeps, c) => {
      requireOwner(c, deps, 'channels');
      const { clock, config } = deps;
      const link = linkToIncidents(config);
      const channel = await findChannel(deps, name);
      const reason = await tryChannel(channel, { clock, link });
      if (reason !== null) deps.log.warn('a test message was not sent', { channel: name, reason });
      return sendData(c, 'Tested the channel', { name, sent: reason === null, reason });
    },
  ),
];

async function findChannel(deps: ObservatoryDeps, name: string): Promise<AlertChannel> {
  const channels = await openAlertChannels(deps.config, deps);
  const found = channels.find((it) => it.name === name);
  if (found === undefined) throw new AppError('NOT_FOUND', 'there is no such channel');
  return found;
}

function logChange(
  c: Context<HttpEnv>,
  { log }: ObservatoryDeps,
  what: string,
  name: string,
): void {
  log.info(what, { request_id: c.get('requestId'), by: c.get('user'), channel: name });
}
