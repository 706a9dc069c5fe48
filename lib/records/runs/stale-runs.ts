import type { Database, Statement } from '../../database/database.ts';

/** The error message of a run whose worker disappeared. */
export const STALE_RUN_MESSAGE = 'The backup worker stopped without finishing this run.';

/** SQL for the latest sign of life of the row `run` of backup_runs. */
export const latestSignOfLife = `greatest(
  started_at, heartbeat_at,
  (SELECT max(created_at) FROM execution_logs AS log WHERE log.run_id = run.id),
  (SELECT max(created_at) FROM backup_results AS result WHERE result.run_id = run.id)
)`;

// Postgres re-checks the condition when another transaction changed the row: a heartbeat that commits first
// keeps the run, and of two concurrent sweeps only one changes it.
const failStaleRuns: Statement = {
  name: 'fail_stale_runs',
  text: `WITH stale AS (
      UPDATE backup_runs AS run
      SET status = 'failed', completed_at = $1::timestamptz, error_message = $3, fault = 'stale',
        exclusive_key = nullif(exclusive_key, 'worker'), progress = NULL,
        duration_ms = CASE WHEN isfinite(started_at)
          THEN greatest(0, extract(epoch FROM $1::timestamptz - started_at) * 1000)::bigint
          ELSE 0 END
      WHERE status = 'running' AND ${latestSignOfLife} < $2::timestamptz
      RETURNING id
    ), closed AS (
      UPDATE backup_run_requests AS request SET status = 'failed'
      FROM stale WHERE request.run_id = stale.id AND request.status = 'claimed'
    )
    SELECT id FROM stale ORDER BY id`,
};

export interface StaleRunRule {
  /** Milliseconds since the epoch. */
  now: number;
  /** Runs without a sign of life for this many milliseconds are stale. */
  staleAfterMs: number;
}

/**
 * Fails stale runs and the requests they had claimed. Returns the ids of the runs, ascending.
 */
export async function sweepStaleRuns(
  db: Database,
  { now, staleAfterMs }: StaleRunRule,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(failStaleRuns, [
    new Date(now).toISOString(),
    new Date(now - staleAfterMs).toISOString(),
    STALE_RUN_MESSAGE,
  ]);
  return rows.map(({ id }) => id);
}
