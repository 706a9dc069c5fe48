import type { Database, Statement } from '../../database/database.ts';
import type { RunCounters } from './runs.ts';

/** A repository that a run found unchanged. */
export interface UnchangedRepository {
  runId: number;
  repository: string;
  /** The log line about it. */
  message: string;
  /** The run's counters including this repository. */
  counters: RunCounters;
}

// One statement, because a run may find thousands of repositories unchanged.
const insertUnchanged: Statement = {
  name: 'record_unchanged',
  text: `WITH state AS (
      UPDATE worker_repo_state SET checked_at = now() WHERE repo_full_name = $2
    ), line AS (
      INSERT INTO execution_logs (run_id, level, message, repository)
      VALUES ($1::int, 'info', $3, $2)
    )
    UPDATE backup_runs
    SET heartbeat_at = now(), successful = $4::int, failed = $5::int, skipped = $6::int
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
    RETURNING id`,
};

/**
 * Records that a repository was good without a new result: the time, a log line, and the run's counters. Counts as a
 * heartbeat. Returns false when the run is no longer ours.
 */
export async function recordUnchanged(
  db: Database,
  { runId, repository, message, counters }: UnchangedRepository,
): Promise<boolean> {
  const { successful, failed, skipped } = counters;
  const values = [runId, repository, message, successful, failed, skipped];
  return (await db.query(insertUnchanged, values)).length > 0;
}
