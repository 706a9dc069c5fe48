import type { Database, Statement } from '../platform/database/database.ts';

/** What the worker recorded of a repository's archive; empty texts where it recorded nothing. */
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

/** The recorded archive of a repository in any case, its own spelling first; null when there is none. */
export async function findRecordedArchive(
  db: Database,
  repository: string,
): Promise<RecordedArchive | null> {
  const [row] = await db.query<RecordedArchive>(selectArchive, [repository]);
  return row ?? null;
}
