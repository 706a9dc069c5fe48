import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonArray, jsonObject, readObject } from '../../records/base/page.ts';
import { isKnownTimeZone } from './time-zone.ts';

/** How often a window comes again. */
export const repetitions = ['daily', 'weekly'] as const;

/** Maximum number of windows that are not over. */
export const MAX_WINDOWS = 100;

/** A window of planned work. */
export interface NewMaintenanceWindow {
  note: string;
  /** ISO 8601, like `ends_at`: the first window, or the only one. */
  starts_at: string;
  ends_at: string;
  repeats: (typeof repetitions)[number] | null;
  /** Where it repeats at the same time of day. */
  time_zone: string;
}

const DAYS = "CASE repeats WHEN 'daily' THEN 1 WHEN 'weekly' THEN 7 END";

// Repeats in local time, so that it keeps its time of day when the clocks change. A change moves a window by less than
// its repetition, so that one of three candidates is the one.
const occurrences = (moment: string) => `(
    SELECT (first + n * pause) AT TIME ZONE time_zone AS starts_at, (last + n * pause) AT TIME ZONE time_zone AS ends_at
    FROM (
      SELECT planned.starts_at AT TIME ZONE time_zone AS first, planned.ends_at AT TIME ZONE time_zone AS last,
        ${DAYS} * interval '1 day' AS pause
    ) AS local
    CROSS JOIN LATERAL (
      SELECT greatest(0, floor(extract(epoch FROM ${moment} AT TIME ZONE time_zone - first) / 86400 / (${DAYS}))) AS nearest
    ) AS counted
    CROSS JOIN LATERAL generate_series(greatest(0, nearest - 1)::int, (nearest + 1)::int) AS n
    WHERE repeats IS NOT NULL
    UNION ALL SELECT planned.starts_at, planned.ends_at WHERE repeats IS NULL
  )`;

/** SQL for the maintenance window in which a moment lies, the one that ends last; no row if there is none. */
export const maintenanceAt = (moment: string) => `SELECT current.starts_at, current.ends_at
  FROM maintenance_windows AS planned CROSS JOIN LATERAL ${occurrences(moment)} AS current
  WHERE planned.removed_at IS NULL AND current.starts_at <= ${moment} AND ${moment} < current.ends_at
  ORDER BY current.ends_at DESC LIMIT 1`;

/** The columns of a MaintenanceWindow in order, with the window that is current or comes next. */
const columns = `planned.id, note, ${iso('next.starts_at')} AS starts_at, ${iso('next.ends_at')} AS ends_at, repeats,
  time_zone, next.starts_at <= $1::timestamptz AS is_current, created_by, ${iso('created_at')} AS created_at`;

const listed = (from: string) => `SELECT ${columns} FROM ${from} AS planned CROSS JOIN LATERAL (
    SELECT occurrence.starts_at, occurrence.ends_at FROM ${occurrences('$1::timestamptz')} AS occurrence
    WHERE occurrence.ends_at > $1::timestamptz ORDER BY occurrence.starts_at LIMIT 1
  ) AS next`;

const list: Statement = {
  name: 'list_maintenance_windows',
  text: `SELECT ${jsonArray(`${listed('maintenance_windows')} WHERE removed_at IS NULL
    ORDER BY next.starts_at, planned.id LIMIT ${MAX_WINDOWS}`)} AS items`,
};

/** The windows that are current or come, in their order, as JSON. */
export async function listMaintenanceWindows(db: Database, now: number): Promise<string> {
  const [row] = await db.query<{ items: string }>(list, [new Date(now).toISOString()]);
  return row?.items ?? '[]';
}

const add: Statement = {
  name: 'add_maintenance_window',
  text: `WITH asked AS (SELECT ${isKnownTimeZone('$6')} AS is_known), added AS (
      INSERT INTO maintenance_windows (note, starts_at, ends_at, repeats, time_zone, created_by, created_at)
      SELECT $2, $3::timestamptz, $4::timestamptz, $5, $6, $7, $1::timestamptz
      WHERE (SELECT is_known FROM asked) AND (
        SELECT count(*) FROM maintenance_windows
        WHERE removed_at IS NULL AND (ends_at > $1::timestamptz OR repeats IS NOT NULL)
      ) < ${MAX_WINDOWS}
      RETURNING *
    )
    SELECT CASE WHEN NOT is_known THEN 'unknown zone' WHEN EXISTS (SELECT FROM added) THEN 'added' ELSE 'full' END AS outcome,
      ${jsonObject(listed('added'))} AS item
    FROM asked`,
};

/** The outcome of adding a window: `item` is its JSON, or null if it was not added. */
export interface AddedWindow {
  outcome: 'added' | 'unknown zone' | 'full';
  item: string | null;
}

/** Adds a window. */
export async function addMaintenanceWindow(
  db: Database,
  { note, starts_at, ends_at, repeats, time_zone }: NewMaintenanceWindow,
  { by, now }: { by: string; now: number },
): Promise<AddedWindow> {
  const values = [new Date(now).toISOString(), note, starts_at, ends_at, repeats, time_zone, by];
  const [row] = await db.query<AddedWindow>(add, values);
  if (row === undefined) throw new Error(`${add.name} returned no row`);
  return row;
}

const remove: Statement = {
  name: 'remove_maintenance_window',
  text: `WITH removed AS (
      UPDATE maintenance_windows SET removed_at = $2::timestamptz, removed_by = $3
      WHERE id = $1::bigint AND removed_at IS NULL RETURNING id, note
    )
    SELECT ${jsonObject('SELECT id, note FROM removed')} AS item`,
};

/** Removes a window, also while it is current, and returns its id and note as JSON; null if there is none. */
export function removeMaintenanceWindow(
  db: Database,
  id: number,
  { by, now }: { by: string; now: number },
): Promise<string | null> {
  return readObject(db, remove, [id, new Date(now).toISOString(), by]);
}
