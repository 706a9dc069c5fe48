import type { Database, Statement } from '../database/database.ts';
import { newestOfAll } from './base/newest-results.ts';
import { iso } from './base/page.ts';

/** A repository's archive as recorded by the worker. Missing values are empty strings. */
export interface RecordedArchive {
  archive_key: string;
  archive_sha256: string;
}

const selectArchive: Statement = {
  name: 'recorded_archive',
  text: `SELECT coalesce(archive_key, '') AS archive_key, coalesce(archive_sha256, '') AS archive_sha256
    FROM worker_repo_state WHERE lower(repo_full_name) = lower($1)
    ORDER BY repo_full_name = $1 DESC, updated_at DESC LIMIT 1`,
};

/** Finds a repository's recorded archive case-insensitively, preferring an exact match; null when there is none. */
export async function findRecordedArchive(
  db: Database,
  repository: string,
): Promise<RecordedArchive | null> {
  const [row] = await db.query<RecordedArchive>(selectArchive, [repository]);
  return row ?? null;
}

const selectEmpty: Statement = {
  name: 'found_empty',
  text: `WITH ${newestOfAll}
    SELECT ${iso('newest.created_at')} AS at FROM newest
    WHERE lower(repo_full_name) = lower($1) AND status = 'empty'
    ORDER BY created_at DESC LIMIT 1`,
};

/** When a repository was last read, in ISO 8601, if it was empty then: it has no archive. Null for any other. */
export async function findEmptyAt(db: Database, repository: string): Promise<string | null> {
  const [row] = await db.query<{ at: string }>(selectEmpty, [repository]);
  return row?.at ?? null;
}

const countArchives: Statement = {
  name: 'count_archives',
  text: `SELECT count(*)::int AS recorded FROM worker_repo_state WHERE archive_key LIKE '%.bundle'`,
};

/** How many archives are recorded, also of lost and forgotten repositories. */
export async function countRecordedArchives(db: Database): Promise<number> {
  const [row] = await db.query<{ recorded: number }>(countArchives, []);
  return row?.recorded ?? 0;
}
