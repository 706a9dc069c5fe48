import type { Database, Statement } from '../platform/database/database.ts';

/** What a run that was given up says (decisions 3, Stale run). */
export const STALE_RUN_MESSAGE = 'The backup worker stopped without finishing this run.';

// The row's own columns are tested again when another transaction changed it meanwhile: a heartbeat that
// commits first keeps the run, and of two sweeps at once one changes it.
const failStaleRuns: Statement = {
  name: 'fail_stale_runs',
  text: `WITH stale AS (
      UPDATE backup_runs AS run
      SET status = 'failed', completed_at = $1::timestamptz, error_message = $3,
        exclusive_key = NULL,
        duration_ms = CASE WHEN isfinite(started_at)
          THEN greatest(0, extract(epoch FROM $1::timestamptz - started_at) * 1000)::bigint
          ELSE 0 END
      WHERE status = 'running' AND greatest(
        started_at, heartbeat_at,
        (SELECT max(created_at) FROM execution_logs AS log WHERE log.run_id = run.id),
        (SELECT max(created_at) FROM backup_results AS result WHERE result.run_id = run.id)
      ) < $2::timestamptz
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
  /** A run whose latest sign of life is older than this has lost its worker. Milliseconds. */
  staleAfterMs: number;
}

/**
 * Marks the running runs whose worker stopped as failed, with the requests that they had claimed, and
 * returns their ids, ascending. The latest sign of life is the newest of started_at, heartbeat_at, the
 * run's logs and results (decisions 3).
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
