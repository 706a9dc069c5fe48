import type { Database, Statement } from '../database/database.ts';
import { newestResults } from './base/newest-results.ts';
import { wasRead } from './base/was-read.ts';
import { hasEnded } from './runs/last-runs.ts';

const selectNames: Statement = {
  name: 'tracked_names',
  text: `WITH ${newestResults}
    SELECT repo_full_name AS name FROM newest ORDER BY repo_full_name LIMIT $1::int`,
};

/** The names of up to `limit` tracked repositories, sorted. */
export async function listTrackedNames(db: Database, limit: number): Promise<string[]> {
  const rows = await db.query<{ name: string }>(selectNames, [limit]);
  return rows.map(({ name }) => name);
}

/** How many of the repositories that a run does not cover are named. */
const MAX_UNCOVERED = 100;

// A repository that was never read is none. One that the last run for most repositories did not touch any more is named
// by no source. A run for a few says nothing about the others.
const selectUncovered: Statement = {
  name: 'uncovered_names',
  text: `WITH ${newestResults}, was_read AS MATERIALIZED (
      SELECT repo_full_name AS name, greatest(newest.created_at, state.checked_at) AS touched_at
      FROM newest LEFT JOIN worker_repo_state AS state USING (repo_full_name)
      WHERE ${wasRead('newest')}
    ), usual AS (
      SELECT started_at FROM backup_runs AS run
      WHERE ${hasEnded} AND run.started_at < $3::timestamptz AND total_repos * 2 >= (SELECT count(*) FROM was_read)
      ORDER BY run.started_at DESC, run.id DESC LIMIT 1
    ), named AS (
      SELECT name FROM was_read
      WHERE touched_at >= coalesce((SELECT started_at FROM usual), '-infinity')
    )
    SELECT (SELECT count(*) FROM named)::int AS named, coalesce(json_agg(name), '[]')::text AS uncovered
    FROM (
      SELECT name FROM named
      WHERE NOT (name = ANY ($1::text[]) OR lower(name) = ANY ($2::text[]))
      ORDER BY name LIMIT ${MAX_UNCOVERED}
    ) AS left_out`,
};

/**
 * The repositories that a request for all, made at a time (ISO 8601), means and that are not among `names`: those that
 * were read at least once and are still named by a source. Null if there are none yet at all.
 */
export async function findUncovered(
  db: Database,
  names: readonly string[],
  since: string,
): Promise<string[] | null> {
  const values = [names, names.map((name) => name.toLowerCase()), since];
  const [row] = await db.query<{ named: number; uncovered: string }>(selectUncovered, values);
  return row === undefined || row.named === 0 ? null : JSON.parse(row.uncovered);
}

const selectUntracked: Statement = {
  name: 'untracked_names',
  text: `WITH ${newestResults}
    SELECT asked.name FROM unnest($1::text[], $2::text[]) AS asked (name, lowered)
    WHERE NOT EXISTS (
      SELECT FROM newest WHERE repo_full_name = asked.name OR lower(repo_full_name) = asked.lowered
    )`,
};

/** The `names` that match no tracked repository, case-insensitively. */
export async function findUntracked(db: Database, names: readonly string[]): Promise<Set<string>> {
  const values = [names, names.map((name) => name.toLowerCase())];
  const rows = await db.query<{ name: string }>(selectUntracked, values);
  return new Set(rows.map(({ name }) => name));
}
