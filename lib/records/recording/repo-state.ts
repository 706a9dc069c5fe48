import type { Database, Statement } from '../../platform/database/database.ts';

/** What is recorded of a repository's archive, and who else's archive has the same file name. */
export interface RepoState {
  /** Null when no archive is recorded under this file name. */
  archiveSha256: string | null;
  /** Another repository whose archive has this file name, such as `a__b/c` beside `a/b__c`. */
  otherOwner: string | null;
}

const selectState: Statement = {
  name: 'repo_state',
  text: `SELECT
    (SELECT archive_sha256 FROM worker_repo_state
     WHERE repo_full_name = $1 AND archive_key = $2) AS "archiveSha256",
    (SELECT repo_full_name FROM worker_repo_state
     WHERE archive_key = $2 AND lower(repo_full_name) <> lower($1) LIMIT 1) AS "otherOwner"`,
};

/** Reads the recorded archive of a repository by its full name and the archive's file name. */
export async function readRepoState(
  db: Database,
  repository: string,
  archiveKey: string,
): Promise<RepoState> {
  const [row] = await db.query<RepoState>(selectState, [repository, archiveKey]);
  return { archiveSha256: row?.archiveSha256 || null, otherOwner: row?.otherOwner ?? null };
}
