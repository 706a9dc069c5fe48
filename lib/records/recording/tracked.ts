import type { Database, Statement } from '../../platform/database/database.ts';

/** A repository that has an archive, and the archive's file name. */
export interface TrackedRepository {
  repository: string;
  archiveKey: string;
}

const selectTracked: Statement = {
  name: 'tracked_repositories',
  text: `SELECT repo_full_name AS repository, archive_key AS "archiveKey"
    FROM worker_repo_state WHERE archive_key <> '' ORDER BY repo_full_name`,
};

/** Every repository with a recorded archive, by name. */
export function listTracked(db: Database): Promise<TrackedRepository[]> {
  return db.query<TrackedRepository>(selectTracked, []);
}
