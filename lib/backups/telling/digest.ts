import * as z from 'zod';
import {
  digestIntervals,
  readDigest,
  removeDigest,
  setDigest,
} from '../../alerts/telling/digest.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { storableText } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { timestamp } from '../base/shapes.ts';
import { changing, logChange, timeOfDay, timeZone, unknownTimeZone } from './input.ts';

/** As many as ALERT_CHANNELS and the page may have together. */
const MAX_CHANNELS = 40;

const channels = z
  .array(storableText(100))
  .max(MAX_CHANNELS)
  .nullable()
  .meta({ description: 'The names of the channels that get it; null for all.' });

const fields = {
  every: z.enum(digestIntervals),
  weekday: z.int().min(1).max(7).meta({
    description: 'The day of a weekly digest, from 1 for Monday to 7 for Sunday.',
  }),
  at: timeOfDay,
  time_zone: timeZone,
};

const mail = z.boolean().meta({ description: 'Whether it is also mailed to SMTP_TO.' });

const digest = z
  .object({
    ...fields,
    channels: z.array(z.string()).nullable(),
    mail,
    updated_by: z.string(),
    updated_at: timestamp,
  })
  .meta({ id: 'Digest' });

const now = z
  .object({
    digest: digest.nullable(),
    next_at: timestamp.nullable().meta({ description: 'When the next one is sent.' }),
    last_sent_at: timestamp.nullable(),
  })
  .meta({ id: 'DigestNow' });

const newDigest = z
  .object({
    ...fields,
    weekday: fields.weekday.default(1),
    channels: channels.default(null),
    mail: mail.default(false),
  })
  .refine((given) => given.mail || given.channels?.length !== 0, {
    path: ['channels'],
    message: 'must name a channel, unless the digest is mailed',
  })
  .meta({ id: 'NewDigest' });

const common = { path: '/api/digest', tag: 'Telling' } as const;

/** GET, PUT and DELETE /api/digest. */
export const digestEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'Read when the digest is sent, and to whom',
      responses: { 200: { description: 'The digest.', schema: now } },
    },
    async (_input, { db, clock }: BackupsDeps, c) => sendJson(c, await readDigest(db, clock.now())),
  ),
  endpoint(
    {
      ...common,
      method: 'put',
      access: 'administrator',
      summary: 'Set a daily or weekly digest',
      description:
        'It says first in one sentence how the backups are, and then what needs somebody. Sent once, within 10 minutes of its time, or within an hour while the database is idle.',
      body: { encoding: 'json', schema: newDigest },
      responses: { 200: { description: 'The digest.', schema: now } },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      if (!(await setDigest(deps.db, body, changing(c, deps)))) throw unknownTimeZone();
      logChange(c, deps, 'the digest was changed');
      return sendJson(c, await readDigest(deps.db, deps.clock.now()));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      access: 'administrator',
      summary: 'End the digest',
      responses: {
        200: { description: 'There is none now.', schema: now },
        404: { description: 'There was none.', schema: plainError },
      },
    },
    async (_input, deps: BackupsDeps, c) => {
      if (!(await removeDigest(deps.db))) throw new AppError('NOT_FOUND', 'no digest is set');
      logChange(c, deps, 'the digest was ended');
      return sendJson(c, await readDigest(deps.db, deps.clock.now()));
    },
  ),
];
