import * as z from 'zod';
import {
  readQuietHours,
  removeQuietHours,
  setQuietHours,
} from '../../alerts/telling/quiet-hours.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { sendJson } from '../base/json.ts';
import { timestamp } from '../base/shapes.ts';
import { changing, logChange, timeOfDay, timeZone, unknownTimeZone, weekdays } from './input.ts';

const EVERY_DAY = 7;

const fields = {
  from: timeOfDay,
  to: timeOfDay.meta({ description: 'On the next day if it is not after `from`.' }),
  time_zone: timeZone,
};

const quietHours = z
  .object({
    ...fields,
    days: z.array(z.int()).meta({
      description: 'The days on which they begin, from 1 for Monday to 7 for Sunday.',
    }),
    critical_passes: z.boolean(),
    updated_by: z.string(),
    updated_at: timestamp,
  })
  .meta({ id: 'QuietHours' });

const now = z
  .object({
    quiet_hours: quietHours.nullable(),
    quiet_until: timestamp.nullable().meta({ description: 'Null if it is not quiet now.' }),
  })
  .meta({ id: 'QuietHoursNow' });

const newQuietHours = z
  .object({
    ...fields,
    days: weekdays.default([1, 2, 3, 4, 5, 6, 7]),
    critical_passes: z.boolean().default(false).meta({
      description: 'Whether messages about critical incidents are sent nevertheless.',
    }),
  })
  .refine(({ from, to, days }) => from !== to || days.length < EVERY_DAY, {
    path: ['to'],
    message: 'must differ from the beginning: otherwise it is always quiet',
  })
  .meta({ id: 'NewQuietHours' });

const common = { path: '/api/quiet-hours', tag: 'Telling' } as const;

/** GET, PUT and DELETE /api/quiet-hours. */
export const quietHoursEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'Read the quiet hours, and whether it is quiet now',
      responses: { 200: { description: 'The quiet hours.', schema: now } },
    },
    async (_input, { db, clock }: BackupsDeps, c) =>
      sendJson(c, await readQuietHours(db, clock.now())),
  ),
  endpoint(
    {
      ...common,
      method: 'put',
      access: 'administrator',
      summary: 'Set the quiet hours, in which messages wait',
      description:
        'Incidents open and close as ever. When they end, one summary tells what waited.',
      body: { encoding: 'json', schema: newQuietHours },
      responses: { 200: { description: 'The quiet hours.', schema: now } },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      if (!(await setQuietHours(deps.db, body, changing(c, deps)))) throw unknownTimeZone();
      logChange(c, deps, 'the quiet hours were changed');
      return sendJson(c, await readQuietHours(deps.db, deps.clock.now()));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      access: 'administrator',
      summary: 'Remove the quiet hours',
      description: 'What waits is told within 10 minutes, in a summary.',
      responses: {
        200: { description: 'There are none now.', schema: now },
        404: { description: 'There were none.', schema: plainError },
      },
    },
    async (_input, deps: BackupsDeps, c) => {
      if (!(await removeQuietHours(deps.db)))
        throw new AppError('NOT_FOUND', 'no quiet hours are set');
      logChange(c, deps, 'the quiet hours were removed');
      return sendJson(c, await readQuietHours(deps.db, deps.clock.now()));
    },
  ),
];
