import * as z from 'zod';
import {
  addMaintenanceWindow,
  listMaintenanceWindows,
  MAX_WINDOWS,
  removeMaintenanceWindow,
  repetitions,
} from '../../alerts/telling/maintenance.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { runIdInput, storableText } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { timestamp } from '../base/shapes.ts';
import { changing, invalid, logChange, moment, timeZone, unknownTimeZone } from './input.ts';

const HOUR_MS = 3_600_000;
const MAX_NOTE = 500;
/** How long a window may be, in hours. An hour less than its repetition, because clocks change. */
const maxHours = { daily: 23, weekly: 7 * 24 - 1, once: 31 * 24 } as const;

const window = z
  .object({
    id: z.int(),
    note: z.string(),
    starts_at: timestamp.meta({ description: 'Of the current window, or else of the next one.' }),
    ends_at: timestamp,
    repeats: z.enum(repetitions).nullable(),
    time_zone: z.string(),
    is_current: z.boolean(),
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'MaintenanceWindow' });

const newWindow = z
  .object({
    note: storableText(MAX_NOTE).trim().min(1, 'must say what is done').meta({
      description: 'What is done, for the page.',
    }),
    starts_at: moment,
    ends_at: moment,
    repeats: z.enum(repetitions).nullish().meta({ description: 'Default: it does not repeat.' }),
    time_zone: timeZone.default('UTC').meta({
      description: 'Where it repeats at the same time of day.',
    }),
  })
  .superRefine(({ starts_at, ends_at, repeats }, { addIssue }) => {
    const hours = (Date.parse(ends_at) - Date.parse(starts_at)) / HOUR_MS;
    const max = maxHours[repeats ?? 'once'];
    const issue = (message: string) => addIssue({ code: 'custom', path: ['ends_at'], message });
    if (hours <= 0) issue('must be after the beginning');
    else if (hours > max) issue(`must be at most ${max} hours after the beginning`);
  })
  .meta({ id: 'NewMaintenanceWindow' });

const common = { path: '/api/maintenance', tag: 'Telling' } as const;

/** GET and POST /api/maintenance, DELETE /api/maintenance/:id. */
export const maintenanceEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the maintenance windows that are current or come',
      responses: {
        200: {
          description: 'The windows, in their order.',
          schema: z.object({ data: z.array(window) }),
        },
      },
    },
    async (_input, { db, clock }: BackupsDeps, c) =>
      sendJson(c, `{"data":${await listMaintenanceWindows(db, clock.now())}}`),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      summary: 'Add a maintenance window',
      description:
        'Incidents that begin in it are not told, unless they outlast it: then a summary tells of them when it ends.',
      body: { encoding: 'json', schema: newWindow },
      responses: {
        201: { description: 'The window.', schema: window },
        409: { description: 'There are too many windows.', schema: plainError },
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const by = changing(c, deps);
      const repeats = body.repeats ?? null;
      if (repeats === null && Date.parse(body.ends_at) <= by.now) {
        throw invalid('ends_at', 'must be in the future');
      }
      const added = await addMaintenanceWindow(deps.db, { ...body, repeats }, by);
      if (added.outcome === 'unknown zone') throw unknownTimeZone();
      if (added.item === null) {
        throw new AppError('CONFLICT', `there are ${MAX_WINDOWS} windows: remove one first`);
      }
      logChange(c, deps, 'a maintenance window was added');
      return c.body(added.item, 201, { 'Content-Type': 'application/json' });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/maintenance/:id',
      access: 'administrator',
      summary: 'Remove a maintenance window, or end it',
      description: 'What it holds is told within 10 minutes, in a summary.',
      params: z.object({
        id: runIdInput.shape.id.meta({ description: 'Id of a maintenance window.' }),
      }),
      responses: {
        200: { description: 'The window.', schema: window.pick({ id: true, note: true }) },
        404: { description: 'There is no such window.', schema: plainError },
      },
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const item = await removeMaintenanceWindow(deps.db, params.id, changing(c, deps));
      if (item === null) throw new AppError('NOT_FOUND', 'maintenance window not found');
      logChange(c, deps, 'a maintenance window was removed', { window: params.id });
      return sendJson(c, item);
    },
  ),
];
