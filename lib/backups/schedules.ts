import * as z from 'zod';
import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import {
  changeSchedule,
  createSchedule,
  findSchedule,
  listSchedules,
  MAX_SCHEDULES,
  removeSchedule,
  type ScheduleChoice,
  type StoredSchedule,
} from '../records/schedules/schedules.ts';
import { listSources } from '../records/sources/sources.ts';
import { upcomingTimes } from '../schedule/plan.ts';
import { isTimeZone, nextTime, parseTiming, TimingFault } from '../timing/timing.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import { runIdInput } from './base/input.ts';
import { milliseconds, timestamp } from './base/shapes.ts';

/** How many of the next times are listed. */
const TIMES_SHOWN = 3;
const VARIABLE = 'BACKUP_EVERY';

const timing = z
  .string()
  .transform((text, context) => {
    try {
      return parseTiming(text);
    } catch (error) {
      if (!(error instanceof TimingFault)) throw error;
      context.addIssue(error.message);
      return z.NEVER;
    }
  })
  .meta({
    description:
      'An interval (`6h`, `every 6 hours`), a time in words (`daily at 02:30`, `weekdays at 22:00`, `Sundays at 03:00`), or cron of five fields.',
    example: 'daily at 02:30',
    override: ({ jsonSchema }) => {
      Object.assign(jsonSchema, { type: 'string' });
    },
  });
const timeZone = z
  .string()
  .max(100)
  .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
  .meta({ description: 'A time zone of the IANA database.', example: 'Europe/Berlin' });
const nextTimes = z.array(z.iso.datetime()).meta({
  description:
    'The next times, if each run begins on time. The first one is in the past if a run is overdue.',
});

const schedule = z
  .object({
    id: z.int(),
    timing: z.string().meta({ description: 'As somebody wrote it.', example: 'daily at 02:30' }),
    time_zone: z.string(),
    sources: z
      .array(z.int())
      .nullable()
      .meta({ description: 'Ids of the only sources that it backs up; null for all.' }),
    is_paused: z.boolean(),
    in_effect: z.boolean().meta({
      description: `False while ${VARIABLE} is set, which replaces the schedules that were made here.`,
    }),
    set_by: z
      .literal(VARIABLE)
      .nullable()
      .meta({ description: 'The variable that sets it; null if it was made here.' }),
    next_times: nextTimes,
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Schedule' });

const sourceIds = z
  .array(z.int().min(1))
  .min(1, 'must name at least one source, or be null for all')
  .max(1_000)
  .transform((ids) => [...new Set(ids)])
  .nullable()
  .meta({ description: 'Ids of the only sources to back up; null for all.' });

const newSchedule = z
  .object({
    timing,
    sources: sourceIds.default(null),
    time_zone: timeZone.optional().meta({ description: "Default: the server's time zone." }),
  })
  .meta({ id: 'NewSchedule' });
const changedSchedule = z
  .object({
    timing: timing.optional(),
    time_zone: timeZone.optional(),
    sources: sourceIds.optional(),
    is_paused: z.boolean().optional().meta({ description: 'Whether it starts no runs for now.' }),
  })
  .meta({ id: 'ChangedSchedule' });

const common = { path: '/api/schedules', tag: 'Schedules' } as const;
const ofOne = {
  ...common,
  path: '/api/schedules/:id',
  params: z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a schedule.' }) }),
} as const;
const unknown = { description: 'No such schedule.', schema: plainError };
const conflict = { description: `${VARIABLE} sets when runs start.`, schema: plainError };

/** GET and POST /api/schedules, PATCH and DELETE /api/schedules/:id, GET /api/schedules/preview. */
export const schedulesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List when runs start, and the next times',
      responses: {
        200: {
          description: 'The schedules, oldest first.',
          schema: z.object({
            runs_start_here: z.boolean().meta({
              description:
                'Whether this server starts the runs. If not, `npm start` on another machine with the same database does, or a worker with `--every` or cron.',
            }),
            set_by: z
              .literal(VARIABLE)
              .nullable()
              .meta({ description: 'The variable that replaces the schedules; null for none.' }),
            time_zone: z.string().meta({ description: "The server's time zone." }),
            schedules: z.array(schedule),
          }),
        },
      },
    },
    async (_input, { db, config, scheduler, clock }: BackupsDeps, c) => {
      const isDeclared = config.BACKUP_EVERY !== undefined;
      const stored = await listSchedules(db);
      return c.json({
        runs_start_here: scheduler !== null,
        set_by: isDeclared ? VARIABLE : null,
        time_zone: config.BACKUP_TIME_ZONE,
        schedules: stored.map((one) => describe(one, { isDeclared, now: clock.now() })),
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      summary: 'Add a schedule',
      body: { encoding: 'json', schema: newSchedule },
      responses: {
        201: { description: 'The schedule.', schema: schedule },
        409: { description: `${VARIABLE} is set, or there are too many.`, schema: plainError },
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      rejectDeclared(deps);
      const zone = body.time_zone ?? deps.config.BACKUP_TIME_ZONE;
      await rejectUnknown(deps, body.sources);
      const choice = {
        ...choose(body.timing, zone, false, deps.clock.now()),
        sources: body.sources,
      };
      const created = await createSchedule(deps.db, choice, callerName(c));
      if (created === null) {
        throw new AppError(
          'CONFLICT',
          `there are ${MAX_SCHEDULES} schedules already: remove one first`,
        );
      }
      deps.scheduler?.wake();
      return c.json(describe(created, { isDeclared: false, now: deps.clock.now() }), 201);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/schedules/preview',
      method: 'get',
      access: 'reader',
      summary: 'Read the next times of a timing',
      query: z.object({
        timing,
        time_zone: timeZone.optional().meta({ description: "Default: the server's time zone." }),
      }),
      responses: {
        200: {
          description: 'The next times.',
          schema: z.object({
            time_zone: z.string(),
            interval_ms: milliseconds.meta({
              description: 'The longest time between two runs.',
            }),
            next_times: nextTimes,
          }),
        },
      },
    },
    ({ query }, { config, clock }: BackupsDeps, c) => {
      const { time_zone = config.BACKUP_TIME_ZONE } = query;
      const { intervalMs, nextAt } = choose(query.timing, time_zone, false, clock.now());
      const next_times = listTimes(query.timing.text, time_zone, nextAt);
      return c.json({ time_zone, interval_ms: intervalMs, next_times });
    },
  ),
  endpoint(
    {
      ...ofOne,
      method: 'patch',
      access: 'administrator',
      summary: 'Change, pause or continue a schedule',
      body: { encoding: 'json', schema: changedSchedule },
      responses: {
        200: { description: 'The schedule.', schema: schedule },
        404: unknown,
        409: conflict,
      },
    },
    async ({ params: { id }, body }, deps: BackupsDeps, c) => {
      const { db, clock } = deps;
      const known = await findSchedule(db, id);
      if (known === null) throw notFound();
      rejectDeclared(deps, known);
      const { is_paused = known.paused_at !== null, time_zone = known.time_zone } = body;
      const { sources = known.sources } = body;
      if (body.sources !== undefined) await rejectUnknown(deps, sources);
      const wanted = body.timing ?? parseTiming(known.timing);
      const changed = await changeSchedule(db, id, {
        ...choose(wanted, time_zone, is_paused, clock.now()),
        sources,
      });
      if (changed === null) throw notFound();
      deps.scheduler?.wake();
      return c.json(describe(changed, { isDeclared: false, now: clock.now() }));
    },
  ),
  endpoint(
    {
      ...ofOne,
      method: 'delete',
      access: 'administrator',
      summary: 'Remove a schedule',
      responses: {
        200: { description: 'The removed schedule.', schema: schedule },
        404: unknown,
        409: conflict,
      },
    },
    async ({ params: { id } }, deps: BackupsDeps, c) => {
      const { db, clock } = deps;
      if ((await findSchedule(db, id)) === null) throw notFound();
      // That of another machine may be left over, if its server will never start again.
      rejectDeclared(deps);
      const removed = await removeSchedule(db, id);
      if (removed === null) throw notFound();
      deps.scheduler?.wake();
      return c.json(describe(removed, { isDeclared: false, now: clock.now() }));
    },
  ),
];

function choose(
  { text, cron, intervalMs }: ReturnType<typeof parseTiming>,
  zone: string,
  isPaused: boolean,
  now: number,
): Omit<ScheduleChoice, 'sources'> {
  const nextAt = cron === null ? now : nextTime(cron, zone, now);
  return {
    ...{ timing: text, timeZone: zone, intervalMs, isPaused },
    nextAt: isPaused ? null : nextAt,
  };
}

function describe(
  stored: StoredSchedule,
  { isDeclared, now }: { isDeclared: boolean; now: number },
): z.output<typeof schedule> {
  const { id, timing: text, time_zone, sources, paused_at, next_at, variable_of } = stored;
  const inEffect = variable_of !== null || !isDeclared;
  const first =
    paused_at !== null || !inEffect
      ? null
      : next_at === null
        ? choose(parseTiming(text), time_zone, false, now).nextAt
        : Date.parse(next_at);
  return {
    ...{ id, timing: text, time_zone, sources, is_paused: paused_at !== null, in_effect: inEffect },
    set_by: variable_of === null ? null : VARIABLE,
    next_times: listTimes(text, time_zone, first),
    ...{ created_by: stored.created_by, created_at: stored.created_at },
  };
}

function listTimes(text: string, zone: string, first: number | null): string[] {
  if (first === null) return [];
  return upcomingTimes(text, zone, first, TIMES_SHOWN).map((at) => new Date(at).toISOString());
}

/** Throws VALIDATION_ERROR if one of these sources does not exist. */
async function rejectUnknown(
  { db, config }: BackupsDeps,
  ids: readonly number[] | null,
): Promise<void> {
  if (ids === null) return;
  const known = new Set((await listSources(db, config.BACKUP_SOURCES)).map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  const message = `must be ids of sources, and there is no source ${unknown[0]}`;
  throw new AppError('VALIDATION_ERROR', `sources ${message}`, {
    details: [{ path: 'sources', message }],
  });
}

function rejectDeclared({ config }: BackupsDeps, known?: StoredSchedule): void {
  if (config.BACKUP_EVERY === undefined && (known?.variable_of ?? null) === null) return;
  throw new AppError(
    'CONFLICT',
    `${VARIABLE} sets when runs start: change that variable, or remove it to make schedules here`,
  );
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'there is no such schedule');
}
