import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonArray, jsonObject, readObject } from '../base/page.ts';

/** Maximum number of schedules. */
export const MAX_SCHEDULES = 100;

/** The columns of a Schedule in order, of a row `schedule`. */
const columns = `id, timing, time_zone, interval_ms, sources, ${iso('paused_at')} AS paused_at,
  ${iso('next_at')} AS next_at, ${iso('created_at')} AS created_at, created_by, variable_of`;

/** A schedule as it is stored. */
export interface StoredSchedule {
  id: number;
  timing: string;
  time_zone: string;
  interval_ms: number;
  /** Ids of sources; null for all. */
  sources: number[] | null;
  paused_at: string | null;
  next_at: string | null;
  created_at: string;
  created_by: string;
  /** The machine whose BACKUP_EVERY it is; null for one that was made on the page. */
  variable_of: string | null;
}

const list: Statement = {
  name: 'schedules',
  text: `SELECT ${jsonArray(`SELECT ${columns} FROM schedules AS schedule ORDER BY schedule.id LIMIT ${2 * MAX_SCHEDULES}`)} AS items`,
};

/** All schedules, oldest first. */
export async function listSchedules(db: Database): Promise<StoredSchedule[]> {
  const [row] = await db.query<{ items: string }>(list);
  return JSON.parse(row?.items ?? '[]') as StoredSchedule[];
}

const find: Statement = {
  name: 'find_schedule',
  text: `SELECT ${jsonObject(`SELECT ${columns} FROM schedules AS schedule WHERE id = $1::bigint`)} AS item`,
};

/** One schedule; null if there is none with this id. */
export function findSchedule(db: Database, id: number): Promise<StoredSchedule | null> {
  return readOne(db, find, [id]);
}

/** What a person decides about a schedule. */
export interface ScheduleChoice {
  timing: string;
  timeZone: string;
  intervalMs: number;
  sources: readonly number[] | null;
  isPaused: boolean;
  /** When the next run is due, in milliseconds since the epoch; null if it is paused. */
  nextAt: number | null;
}

const insert: Statement = {
  name: 'create_schedule',
  text: `WITH schedule AS (
      INSERT INTO schedules (timing, time_zone, interval_ms, sources, paused_at, next_at, created_by)
      SELECT $1, $2, $3::bigint, $4::jsonb, CASE WHEN $5::boolean THEN now() END, $6::timestamptz, $7
      WHERE (SELECT count(*) FROM schedules) < ${MAX_SCHEDULES}
      RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${columns} FROM schedule`)} AS item`,
};

/** Makes a schedule; null if there are too many. */
export function createSchedule(
  db: Database,
  choice: ScheduleChoice,
  createdBy: string,
): Promise<StoredSchedule | null> {
  return readOne(db, insert, [...valuesOf(choice), createdBy]);
}

// It holds anew if its time changed, or if it goes on.
const update: Statement = {
  name: 'change_schedule',
  text: `WITH schedule AS (
      UPDATE schedules SET timing = $1, time_zone = $2, interval_ms = $3::bigint, sources = $4::jsonb,
        paused_at = CASE WHEN $5::boolean THEN coalesce(paused_at, now()) END, next_at = $6::timestamptz,
        since = CASE WHEN timing = $1 AND time_zone = $2 AND (paused_at IS NULL OR $5::boolean)
          THEN since ELSE now() END
      WHERE id = $7::bigint RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${columns} FROM schedule`)} AS item`,
};

/** Changes a schedule; null if there is none with this id. */
export function changeSchedule(
  db: Database,
  id: number,
  choice: ScheduleChoice,
): Promise<StoredSchedule | null> {
  return readOne(db, update, [...valuesOf(choice), id]);
}

const remove: Statement = {
  name: 'remove_schedule',
  text: `WITH schedule AS (DELETE FROM schedules WHERE id = $1::bigint RETURNING *)
    SELECT ${jsonObject(`SELECT ${columns} FROM schedule`)} AS item`,
};

/** Removes a schedule; null if there is none with this id. */
export function removeSchedule(db: Database, id: number): Promise<StoredSchedule | null> {
  return readOne(db, remove, [id]);
}

const declare: Statement = {
  name: 'declare_schedule',
  text: `WITH gone AS (
      DELETE FROM schedules WHERE variable_of = $1 AND $2::text IS NULL
    )
    INSERT INTO schedules AS known (variable_of, timing, time_zone, interval_ms, created_by)
    SELECT $1, $2, $3, $4::bigint, 'BACKUP_EVERY' WHERE $2::text IS NOT NULL
    ON CONFLICT (variable_of) WHERE variable_of IS NOT NULL DO UPDATE SET
      timing = $2, time_zone = $3, interval_ms = $4::bigint,
      since = CASE WHEN known.timing = $2 AND known.time_zone = $3 THEN known.since ELSE now() END
    RETURNING id`,
};

/** Records the BACKUP_EVERY of a machine as a schedule, or that it has none (null). */
export async function declareSchedule(
  db: Database,
  machine: string,
  declared: Pick<ScheduleChoice, 'timing' | 'timeZone' | 'intervalMs'> | null,
): Promise<void> {
  const { timing = null, timeZone = null, intervalMs = null } = declared ?? {};
  await db.query(declare, [machine, timing, timeZone, intervalMs]);
}

function valuesOf({ timing, timeZone, intervalMs, sources, isPaused, nextAt }: ScheduleChoice) {
  const listed = sources === null ? null : JSON.stringify(sources);
  const next = nextAt === null ? null : new Date(nextAt).toISOString();
  return [timing, timeZone, intervalMs, listed, isPaused, next];
}

async function readOne(
  db: Database,
  statement: Statement,
  values: Parameters<typeof readObject>[2],
): Promise<StoredSchedule | null> {
  const item = await readObject(db, statement, values);
  return item === null ? null : (JSON.parse(item) as StoredSchedule);
}
