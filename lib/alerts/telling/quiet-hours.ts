import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonObject, readObject } from '../../records/base/page.ts';
import { isKnownTimeZone } from './time-zone.ts';

/** When messages wait. */
export interface QuietHours {
  /** A time of day, such as 22:00. */
  from: string;
  /** On the next day if it is not after `from`. */
  to: string;
  time_zone: string;
  /** The days on which they begin, from 1 for Monday to 7 for Sunday. */
  days: readonly number[];
  /** Whether messages about critical incidents are sent nevertheless. */
  critical_passes: boolean;
}

/**
 * SQL for the quiet hours in which a moment lies; no row if there are none. Postgres converts the local times, so that
 * a change of the clocks in between makes them an hour longer or shorter.
 */
export const quietAt = (moment: string) => `SELECT critical_passes, ends_at
  FROM quiet_hours CROSS JOIN LATERAL (
    SELECT (day + from_time) AT TIME ZONE time_zone AS starts_at,
      (day + to_time + CASE WHEN to_time <= from_time THEN interval '1 day' ELSE interval '0' END)
        AT TIME ZONE time_zone AS ends_at
    FROM (SELECT date_trunc('day', ${moment} AT TIME ZONE time_zone) AS today) AS local
      CROSS JOIN LATERAL (VALUES (today - interval '1 day'), (today)) AS candidate (day)
    WHERE extract(isodow FROM day)::int = ANY (days)
  ) AS quiet
  WHERE starts_at <= ${moment} AND ${moment} < ends_at ORDER BY ends_at DESC LIMIT 1`;

const read: Statement = {
  name: 'read_quiet_hours',
  text: `SELECT ${jsonObject(`SELECT
      (SELECT row_to_json(hours) FROM (
        SELECT to_char(from_time, 'HH24:MI') AS from, to_char(to_time, 'HH24:MI') AS to, time_zone, days,
          critical_passes, updated_by, ${iso('updated_at')} AS updated_at FROM quiet_hours
      ) AS hours) AS quiet_hours,
      (SELECT ${iso('ends_at')} FROM (${quietAt('$1::timestamptz')}) AS now) AS quiet_until`)} AS item`,
};

/** Reads the quiet hours, and until when it is quiet now, as JSON. `now` is in milliseconds since the epoch. */
export async function readQuietHours(db: Database, now: number): Promise<string> {
  const item = await readObject(db, read, [new Date(now).toISOString()]);
  if (item === null) throw new Error(`${read.name} returned no row`);
  return item;
}

const set: Statement = {
  name: 'set_quiet_hours',
  text: `INSERT INTO quiet_hours (id, from_time, to_time, time_zone, days, critical_passes, updated_by, updated_at)
    SELECT 1, $1::time, $2::time, $3, $4::int[], $5, $6, $7::timestamptz WHERE ${isKnownTimeZone('$3')}
    ON CONFLICT (id) DO UPDATE SET from_time = excluded.from_time, to_time = excluded.to_time,
      time_zone = excluded.time_zone, days = excluded.days, critical_passes = excluded.critical_passes,
      updated_by = excluded.updated_by, updated_at = excluded.updated_at
    RETURNING 1`,
};

/** Replaces the quiet hours. False if the database does not know the time zone. */
export async function setQuietHours(
  db: Database,
  { from, to, time_zone, days, critical_passes }: QuietHours,
  { by, now }: { by: string; now: number },
): Promise<boolean> {
  const values = [from, to, time_zone, days, critical_passes, by, new Date(now).toISOString()];
  return (await db.query(set, values)).length > 0;
}

const remove: Statement = {
  name: 'remove_quiet_hours',
  text: 'DELETE FROM quiet_hours RETURNING 1',
};

/** Ends the quiet hours: what they hold is told in the next round. False if there are none. */
export async function removeQuietHours(db: Database): Promise<boolean> {
  return (await db.query(remove)).length > 0;
}
