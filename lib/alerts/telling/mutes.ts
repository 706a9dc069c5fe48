import type { Database, Statement } from '../../database/database.ts';
import { newestResults } from '../../records/base/newest-results.ts';
import { iso, jsonArray, jsonObject, readObject } from '../../records/base/page.ts';

/** What can be muted. */
export const muteScopes = ['all', 'repository', 'incident'] as const;
export type MuteScope = (typeof muteScopes)[number];

/** Maximum number of mutes at a time. */
export const MAX_MUTES = 1_000;

/** What nobody is told about, until when. */
export type NewMute = { until: string } & (
  | { scope: 'all' }
  | { scope: 'repository'; repository: string }
  | { scope: 'incident'; incident_id: number }
);

/** SQL for whether a mute holds at a moment. */
export const isMuting = (mute: string, moment: string) =>
  `${mute}.ended_at IS NULL AND ${mute}.until > ${moment}`;

/** The columns of a Mute in order. */
const columns = `id, scope, repository_name AS repository, incident_id, ${iso('until')} AS until, created_by,
  ${iso('created_at')} AS created_at`;

const list: Statement = {
  name: 'list_mutes',
  text: `SELECT ${jsonArray(`SELECT ${columns} FROM mutes WHERE ${isMuting('mutes', '$1::timestamptz')}
    ORDER BY scope <> 'all', until, id LIMIT ${MAX_MUTES}`)} AS items`,
};

/** The mutes that hold now, as JSON: of everything first, then by their ends. */
export async function listMutes(db: Database, now: number): Promise<string> {
  const [row] = await db.query<{ items: string }>(list, [new Date(now).toISOString()]);
  return row?.items ?? '[]';
}

const add: Statement = {
  name: 'add_mute',
  text: `WITH ${newestResults}, named AS (
      SELECT repo_full_name FROM newest WHERE lower(repo_full_name) = lower($2)
      ORDER BY repo_full_name = $2 DESC, created_at DESC, result_id DESC LIMIT 1
    ), about AS (
      SELECT CASE $1
        WHEN 'all' THEN 'known'
        WHEN 'repository' THEN CASE WHEN EXISTS (SELECT FROM named) THEN 'known' ELSE 'unknown' END
        ELSE coalesce((SELECT CASE WHEN resolved_at IS NULL THEN 'known' ELSE 'resolved' END
          FROM incidents WHERE id = $3::bigint), 'unknown')
      END AS outcome
    ), added AS (
      INSERT INTO mutes (scope, repository_name, incident_id, until, created_by, created_at)
      SELECT $1, (SELECT repo_full_name FROM named), $3::bigint, $4::timestamptz, $5, $6::timestamptz
      WHERE (SELECT outcome FROM about) = 'known'
        AND (SELECT count(*) FROM mutes WHERE ${isMuting('mutes', '$6::timestamptz')}) < ${MAX_MUTES}
      RETURNING *
    )
    SELECT CASE WHEN outcome = 'known' AND NOT EXISTS (SELECT FROM added) THEN 'full' ELSE outcome END AS outcome,
      ${jsonObject(`SELECT ${columns} FROM added`)} AS item
    FROM about`,
};

/** The outcome of adding a mute: `item` is its JSON, or null if it was not added. */
export interface AddedMute {
  outcome: 'known' | 'unknown' | 'resolved' | 'full';
  item: string | null;
}

/** Mutes everything, a tracked repository or an open incident. */
export async function addMute(
  db: Database,
  mute: NewMute,
  { by, now }: { by: string; now: number },
): Promise<AddedMute> {
  const [row] = await db.query<AddedMute>(add, [
    mute.scope,
    mute.scope === 'repository' ? mute.repository : null,
    mute.scope === 'incident' ? mute.incident_id : null,
    ...[mute.until, by, new Date(now).toISOString()],
  ]);
  if (row === undefined) throw new Error(`${add.name} returned no row`);
  return row;
}

const end: Statement = {
  name: 'end_mute',
  text: `WITH ended AS (
      UPDATE mutes SET ended_at = $2::timestamptz, ended_by = $3
      WHERE id = $1::bigint AND ${isMuting('mutes', '$2::timestamptz')} RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${columns} FROM ended`)} AS item`,
};

/** Ends a mute, and returns it as JSON; null if none with this id holds. */
export function endMute(
  db: Database,
  id: number,
  { by, now }: { by: string; now: number },
): Promise<string | null> {
  return readObject(db, end, [id, new Date(now).toISOString(), by]);
}
