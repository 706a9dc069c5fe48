import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { archiveIsThere } from './archive-looks.ts';
import type { RunCounters } from './runs.ts';

/** What a good archive may lack: files in Git LFS, of which it has only the pointers, and submodules. */
export const archiveLacks = ['lfs', 'submodules'] as const;

/** What a good archive lacks, each with a text for people. */
export type Lacks = Partial<Record<(typeof archiveLacks)[number], string | undefined>>;

/** A recorded archive. */
export interface WrittenArchive {
  /** File name in the archive folder. */
  key: string;
  sha256: string;
}

/** The result of one repository's backup. `too_large`: too large for the git destination. */
export interface RepositoryResult {
  repository: string;
  status: 'completed' | 'failed' | 'empty' | 'too_large';
  /** Empty when there is none. */
  commitHash: string;
  archiveSizeBytes: number;
  durationMs: number;
  errorMessage: string;
  /** What a good archive does not contain, for people. Default: null, it contains everything. */
  incomplete?: string | null | undefined;
  /** The same by kind. Default: null. */
  lacks?: Lacks | null | undefined;
  /** The number of attempts. Default: null, unknown. */
  tries?: number | null | undefined;
  /** The kind of a failure, such as `login`. Default: null, unknown. */
  fault?: string | null | undefined;
  /** Null leaves the recorded archive unchanged. */
  archive: WrittenArchive | null;
}

/** A result of a run on one machine. */
export interface NewResult extends RepositoryResult {
  runId: number;
  /** The machine whose mirror was used. Default: null, unknown. */
  machine?: string | null;
  /** The run's counters including this result. */
  counters: RunCounters;
  /** The number of results that the run recorded before this one. */
  position: number;
}

/** SQL for a time that has passed. One of a clock that is ahead counts as now: it would hide everything until then. */
export const happened = (parameter: string) => `least(${parameter}::timestamptz, now())`;

const at = happened('$15');

/**
 * CTEs that store a result with its archive, so that neither is visible without the other. They take `resultValues` as
 * their first parameters. `isNew`: an SQL condition for adding the result, false when the statement is repeated.
 * `isOurs`: one for everything.
 */
export const storeResult = ({ isNew = 'true', isOurs = 'true' }) => `result AS (
      INSERT INTO backup_results (run_id, repo_full_name, status, commit_hash, archive_size_bytes,
        duration_ms, error_message, incomplete, lacks, tries, fault, created_at)
      SELECT $1::int, $2, $3, $4, $5::bigint, $6::bigint, $7, $8, $9::jsonb, $10::int, $11, ${at}
      WHERE ${isOurs} AND ${isNew}
    ), other_spelling AS (
      DELETE FROM worker_repo_state
      WHERE $12::text IS NOT NULL AND lower(repo_full_name) = lower($2) AND repo_full_name <> $2 AND ${isOurs}
    ), state AS (
      INSERT INTO worker_repo_state
        (repo_full_name, archive_key, archive_sha256, last_commit_hash, updated_at, checked_at, mirror_machine)
      SELECT $2, $12::text, $13::text, $4, ${at}, CASE WHEN $3 = 'completed' THEN ${at} END, $14
      WHERE $12::text IS NOT NULL AND ${isOurs}
      ON CONFLICT (repo_full_name) DO UPDATE SET archive_key = excluded.archive_key,
        archive_sha256 = excluded.archive_sha256, last_commit_hash = excluded.last_commit_hash,
        updated_at = excluded.updated_at, ${archiveIsThere},
        checked_at = greatest(excluded.checked_at, worker_repo_state.checked_at),
        mirror_machine = coalesce(excluded.mirror_machine, worker_repo_state.mirror_machine)
    ), emptied AS (
      UPDATE worker_repo_state SET checked_at = greatest(checked_at, ${at})
      WHERE $3 = 'empty' AND $12::text IS NULL AND lower(repo_full_name) = lower($2) AND ${isOurs}
    )`;

/** The values of `storeResult`: $1 to $15. `machine` is the one whose mirror was used; `atTime` null means now. */
export function resultValues(
  runId: number,
  result: RepositoryResult,
  { machine = null, at: atTime = null }: { machine?: string | null; at?: string | null },
): SqlValue[] {
  const { repository, status, commitHash, archiveSizeBytes, durationMs, errorMessage } = result;
  const { incomplete = null, lacks = null, tries = null, fault = null, archive } = result;
  return [
    ...[runId, repository, status, commitHash, archiveSizeBytes, durationMs, errorMessage],
    ...[incomplete, lacks === null ? null : JSON.stringify(lacks), tries, fault],
    ...[archive?.key ?? null, archive?.sha256 ?? null, machine, atTime],
  ];
}

// `position` makes it safe to retry after a lost response: only the run's worker adds results.
const insertResult: Statement = {
  name: 'record_result',
  text: `WITH ${storeResult({
    isNew: '(SELECT count(*) FROM backup_results WHERE run_id = $1::int) = $16::int',
  })}
    UPDATE backup_runs
    SET heartbeat_at = now(), successful = $17::int, failed = $18::int, skipped = $19::int
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
    RETURNING id`,
};

/**
 * Stores a result, its archive and the run's counters, and counts as a heartbeat. Safe to retry. Returns
 * false when the run is no longer ours; the result is stored anyway.
 */
export async function recordResult(db: Database, result: NewResult): Promise<boolean> {
  const { runId, machine = null, position, counters } = result;
  const { successful, failed, skipped } = counters;
  const values = resultValues(runId, result, { machine });
  return (
    (await db.query(insertResult, [...values, position, successful, failed, skipped])).length > 0
  );
}
