import * as z from 'zod';
import { addMute, endMute, listMutes, MAX_MUTES, muteScopes } from '../../alerts/telling/mutes.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { runIdInput, storableText } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { timestamp } from '../base/shapes.ts';
import { changing, invalid, logChange, moment } from './input.ts';

const MAX_DAYS = 366;

const mute = z
  .object({
    id: z.int(),
    scope: z.enum(muteScopes),
    repository: z.string().nullable().meta({ description: 'With the scope `repository`.' }),
    incident_id: z.int().nullable().meta({ description: 'With the scope `incident`.' }),
    until: timestamp,
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Mute', description: 'What nobody is told about until a time.' });

const until = moment.meta({
  description: `When it ends by itself: in ${MAX_DAYS} days at the latest.`,
});

const newMute = z
  .discriminatedUnion('scope', [
    z.object({ scope: z.literal('all'), until }),
    z.object({
      scope: z.literal('repository'),
      repository: storableText(1_001).min(1).meta({
        description: 'A tracked repository, in any letter case.',
      }),
      until,
    }),
    z.object({ scope: z.literal('incident'), incident_id: z.int().min(1), until }),
  ])
  .meta({ id: 'NewMute' });

const common = { path: '/api/mutes', tag: 'Telling' } as const;

/** GET and POST /api/mutes, DELETE /api/mutes/:id. */
export const mutesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the mutes that hold now',
      responses: {
        200: {
          description: 'The mutes: of everything first, then by their ends.',
          schema: z.object({ data: z.array(mute) }),
        },
      },
    },
    async (_input, { db, clock }: BackupsDeps, c) =>
      sendJson(c, `{"data":${await listMutes(db, clock.now())}}`),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      summary: 'Mute everything, a repository or an incident until a time',
      description:
        'Incidents open and close as ever. When the mute ends, one summary tells what it held back. The mute of a repository concerns incidents of muted repositories only.',
      body: { encoding: 'json', schema: newMute },
      responses: {
        201: { description: 'The mute.', schema: mute },
        404: { description: 'No such repository or incident.', schema: plainError },
        409: {
          description: 'The incident is resolved, or there are too many mutes.',
          schema: plainError,
        },
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const by = changing(c, deps);
      const ms = Date.parse(body.until) - by.now;
      if (ms <= 0) throw invalid('until', 'must be in the future');
      if (ms > MAX_DAYS * 86_400_000) throw invalid('until', `must be within ${MAX_DAYS} days`);
      const { outcome, item } = await addMute(deps.db, body, by);
      if (outcome === 'full') {
        throw new AppError('CONFLICT', `there are ${MAX_MUTES} mutes: end one first`);
      }
      if (outcome === 'resolved') throw new AppError('CONFLICT', 'the incident is resolved');
      if (item === null) {
        const [path, what] =
          body.scope === 'incident'
            ? ['incident_id', 'there is no such incident']
            : ['repository', 'no repository of that name is tracked'];
        throw new AppError('NOT_FOUND', what, { details: [{ path, message: what }] });
      }
      logChange(c, deps, 'messages were muted', { scope: body.scope, until: body.until });
      return c.body(item, 201, { 'Content-Type': 'application/json' });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/mutes/:id',
      access: 'administrator',
      summary: 'End a mute early',
      params: z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a mute.' }) }),
      responses: {
        200: { description: 'The mute that no longer holds.', schema: mute },
        404: { description: 'No mute with this id holds.', schema: plainError },
      },
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const item = await endMute(deps.db, params.id, changing(c, deps));
      if (item === null) throw new AppError('NOT_FOUND', 'mute not found: it may have ended');
      logChange(c, deps, 'a mute was ended', { mute: params.id });
      return sendJson(c, item);
    },
  ),
];
