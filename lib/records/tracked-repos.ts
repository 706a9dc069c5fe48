import type { Database, Statement } from '../database/database.ts';
import { newestResults } from './newest-results.ts';

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

const selectCoverage: Statement = {
  name: 'tracked_coverage',
  text: `WITH ${newestResults}
    SELECT (count(*) > 0 AND bool_and(
      repo_full_name = ANY ($1::text[]) OR lower(repo_full_name) = ANY ($2::text[])
    ))::int AS covered FROM newest`,
};

/** Whether there are tracked repositories and `names` includes all of them. */
export async function areAllTracked(db: Database, names: readonly string[]): Promise<boolean> {
  const values = [names, names.map((name) => name.toLowerCase())];
  const [row] = await db.query<{ covered: number | null }>(selectCoverage, values);
  return row?.covered === 1;
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
