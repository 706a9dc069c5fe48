import { MAX_VERSIONS } from '../../archives/base/note.ts';
import type { Database, Statement } from '../../database/database.ts';
import { newestForgotten } from '../base/newest-results.ts';
import { archiveIsThere } from './archive-looks.ts';
import type { WrittenArchive } from './results.ts';
import type { VersionHash } from './versions.ts';

/** The recorded archive of a repository, and any other repository that claims its file name. */
export interface RepoState {
  /** Null when no archive with this file name is recorded, or its result is missing. */
  archiveSha256: string | null;
  /** Another repository whose archive has this file name: `a__b/c` conflicts with `a/b__c`. */
  otherOwner: string | null;
  /** Whether the repository was ever read: it was good once, or has an archive. */
  wasRead: boolean;
  /** The number of the newest recorded version; null if there is none, undefined if unknown. */
  newestVersion?: number | null;
  /** How many versions are recorded that can be restored. */
  restorableVersions?: number;
  /** The newest of them; null if there is none, undefined if unknown. */
  newestRestorable?: VersionHash | null;
  /** For each version with anomalies, whether all of them are confirmed. Undefined if unknown. */
  confirmed?: ReadonlyMap<number, boolean>;
  /** Whether an anomaly of missing repositories is unconfirmed. */
  hasMissing?: boolean;
  /** Whether its newest result is a failure, or it has an archive and no result. Undefined if unknown. */
  hasFailed?: boolean;
}

const selectState: Statement = {
  name: 'repo_state',
  text: `SELECT
    (SELECT archive_sha256 FROM worker_repo_state
     WHERE repo_full_name = $1 AND archive_key = $2 AND last_commit_hash IS NOT NULL) AS "archiveSha256",
    (SELECT repo_full_name FROM worker_repo_state
     WHERE archive_key = $2 AND lower(repo_full_name) <> lower($1) LIMIT 1) AS "otherOwner",
    (EXISTS (
       SELECT FROM worker_repo_state WHERE lower(repo_full_name) = lower($1)
         AND (coalesce(archive_key, '') <> '' OR checked_at IS NOT NULL)
     ) OR EXISTS (
       SELECT FROM backup_results WHERE repo_full_name = $1 AND status IN ('completed', 'success')
     ))::int AS "wasRead",
    (SELECT version FROM archive_versions
     WHERE repo_full_name = $1 ORDER BY version DESC LIMIT 1) AS "newestVersion",
    (SELECT count(*)::int FROM archive_versions
     WHERE repo_full_name = $1 AND pruned_at IS NULL) AS "restorableVersions",
    (SELECT json_build_object('version', version, 'manifestSha256', manifest_sha256)::text
     FROM archive_versions WHERE repo_full_name = $1 AND archive_key = $2 AND pruned_at IS NULL
     ORDER BY version DESC LIMIT 1) AS "newestRestorable",
    (SELECT coalesce(json_agg(json_build_array(version, confirmed)), '[]')::text FROM (
       SELECT version, bool_and(confirmed_at IS NOT NULL) AS confirmed FROM anomalies
       WHERE repo_full_name = $1 AND version IS NOT NULL
       GROUP BY version ORDER BY version DESC LIMIT ${MAX_VERSIONS}
     ) AS seen) AS confirmed,
    (EXISTS (
       SELECT FROM anomalies WHERE repo_full_name IS NULL AND confirmed_at IS NULL
     ))::int AS "hasMissing",
    coalesce((
       SELECT status IN ('failed', 'too_large') FROM backup_results AS result
       WHERE repo_full_name = $1 ORDER BY result.created_at DESC, result.id DESC LIMIT 1
     ), EXISTS (
       -- A worker that was killed between the archive and its result.
       SELECT FROM worker_repo_state WHERE repo_full_name = $1 AND archive_key = $2
     ))::int AS "hasFailed"`,
};

type StateRow = Pick<
  RepoState,
  'archiveSha256' | 'otherOwner' | 'newestVersion' | 'restorableVersions'
> & {
  newestRestorable: string | null;
  wasRead: number;
  confirmed: string;
  hasMissing: number;
  hasFailed: number;
};

/** Reads the recorded state of a repository's archive. */
export async function readRepoState(
  db: Database,
  repository: string,
  archiveKey: string,
): Promise<RepoState> {
  const [row] = await db.query<StateRow>(selectState, [repository, archiveKey]);
  return {
    archiveSha256: row?.archiveSha256 || null,
    otherOwner: row?.otherOwner ?? null,
    wasRead: row?.wasRead === 1,
    newestVersion: row?.newestVersion ?? null,
    restorableVersions: row?.restorableVersions ?? 0,
    newestRestorable: JSON.parse(row?.newestRestorable ?? 'null') as VersionHash | null,
    confirmed: new Map<number, boolean>(JSON.parse(row?.confirmed ?? '[]')),
    hasMissing: row?.hasMissing === 1,
    hasFailed: row?.hasFailed === 1,
  };
}

// Clears last_commit_hash until a result follows: if the run is interrupted, the repository is backed up again.
const upsertArchive: Statement = {
  name: 'record_archive',
  text: `WITH other_spelling AS (
      DELETE FROM worker_repo_state
      WHERE lower(repo_full_name) = lower($1) AND repo_full_name <> $1
      RETURNING checked_at
    )
    INSERT INTO worker_repo_state
      (repo_full_name, archive_key, archive_sha256, updated_at, checked_at, archive_seen_at)
    VALUES ($1, $2, $3, now(), (SELECT max(checked_at) FROM other_spelling), now())
    ON CONFLICT (repo_full_name) DO UPDATE SET archive_key = excluded.archive_key,
      archive_sha256 = excluded.archive_sha256, last_commit_hash = NULL,
      updated_at = excluded.updated_at, ${archiveIsThere}`,
};

/**
 * Records an archive as soon as it is published, so that it can be verified. Its result follows once the
 * archive has been pushed. Idempotent.
 */
export async function recordArchive(
  db: Database,
  repository: string,
  { key, sha256 }: WrittenArchive,
): Promise<void> {
  await db.query(upsertArchive, [repository, key, sha256]);
}

/** A repository that has an archive. */
export interface TrackedRepository {
  repository: string;
  /** The file name of the archive. */
  archiveKey: string;
  /** Whether somebody has forgotten it, so that it is not reported as missing at its source. */
  isForgotten: boolean;
}

const selectTracked: Statement = {
  name: 'tracked_repositories',
  text: `WITH ${newestForgotten}
    SELECT repo_full_name AS repository, archive_key AS "archiveKey",
      repo_full_name IN (SELECT repo_full_name FROM newest) AS "isForgotten"
    FROM worker_repo_state WHERE archive_key <> '' ORDER BY repo_full_name`,
};

/** Every repository with a recorded archive, by name. */
export function listTracked(db: Database): Promise<TrackedRepository[]> {
  return db.query<TrackedRepository>(selectTracked, []);
}
