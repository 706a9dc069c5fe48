import type { Database, Statement } from '../../database/database.ts';
import { archiveIsThere } from './archive-looks.ts';
import type { RunCounters } from './runs.ts';

/** A recorded archive. */
export interface ArchiveState {
  /** File name in the archive folder. */
  key: string;
  sha256: string;
}

/** The result of one repository's backup. `too_large`: too large for the git destination. */
export interface NewResult {
  runId: number;
  repository: string;
  status: 'completed' | 'failed' | 'empty' | 'too_large';
  /** Empty when there is none. */
  commitHash: string;
  archiveSizeBytes: number;
  durationMs: number;
  errorMessage: string;
  /** What a good archive does not contain, such as LFS objects. Default: null, it contains everything. */
  incomplete?: string | null;
  /** The number of attempts. Default: null, unknown. */
  tries?: number | null;
  /** The kind of a failure, such as `login`. Default: null, unknown. */
  fault?: string | null;
  /** The machine whose mirror was used. Default: null, unknown. */
  machine?: string | null;
  /** Null leaves the recorded archive unchanged. */
  archive: ArchiveState | null;
  /** The run's counters including this result. */
  counters: RunCounters;
  /** The number of results that the run recorded before this one. */
  position: number;
}

// One statement for a result and its archive, so that neither is visible without the other. `position`
// makes it safe to retry after a lost response: only the run's worker adds results.
const insertResult: Statement = {
  name: 'record_result',
  text: `WITH result AS (
      INSERT INTO backup_results
        (run_id, repo_full_name, status, commit_hash, archive_size_bytes, duration_ms, error_message,
          incomplete, tries, fault)
      SELECT $1::int, $2, $3, $4, $5::bigint, $6::bigint, $7, $14, $15::int, $17
      WHERE (SELECT count(*) FROM backup_results WHERE run_id = $1::int) = $8::int
    ), other_spelling AS (
      DELETE FROM worker_repo_state
      WHERE $9::text IS NOT NULL AND lower(repo_full_name) = lower($2) AND repo_full_name <> $2
    ), state AS (
      INSERT INTO worker_repo_state
        (repo_full_name, archive_key, archive_sha256, last_commit_hash, updated_at, checked_at,
          mirror_machine)
      SELECT $2, $9::text, $10::text, $4, now(), CASE WHEN $3 = 'completed' THEN now() END, $16
      WHERE $9::text IS NOT NULL
      ON CONFLICT (repo_full_name) DO UPDATE SET archive_key = excluded.archive_key,
        archive_sha256 = excluded.archive_sha256, last_commit_hash = excluded.last_commit_hash,
        updated_at = excluded.updated_at,
        ${archiveIsThere},
        checked_at = coalesce(excluded.checked_at, worker_repo_state.checked_at),
        mirror_machine = coalesce(excluded.mirror_machine, worker_repo_state.mirror_machine)
    ), emptied AS (
      UPDATE worker_repo_state SET checked_at = now()
      WHERE $3 = 'empty' AND $9::text IS NULL AND lower(repo_full_name) = lower($2)
    )
    UPDATE backup_runs
    SET heartbeat_at = now(), successful = $11::int, failed = $12::int, skipped = $13::int
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
    RETURNING id`,
};

/**
 * Stores a result, its archive and the run's counters, and counts as a heartbeat. Safe to retry. Returns
 * false when the run is no longer ours; the result is stored anyway.
 */
export async function recordResult(db: Database, result: NewResult): Promise<boolean> {
  const { archive, counters } = result;
  const rows = await db.query(insertResult, [
    result.runId,
    result.repository,
    result.status,
    result.commitHash,
    result.archiveSizeBytes,
    result.durationMs,
    result.errorMessage,
    result.position,
    archive?.key ?? null,
    archive?.sha256 ?? null,
    counters.successful,
    counters.failed,
    counters.skipped,
    result.incomplete ?? null,
    result.tries ?? null,
    result.machine ?? null,
    result.fault ?? null,
  ]);
  return rows.length > 0;
}
