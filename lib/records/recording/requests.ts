import type { Database, Statement } from '../../platform/database/database.ts';

/** A request for a run, as the worker works it off. */
export interface ClaimedRequest {
  id: number;
  /** `owner/repo`; null for all repositories. */
  target: string | null;
  requestedBy: string;
  reason: string;
}

// A worker that was killed left its requests claimed; they end with its run. What this run claimed
// already is returned again, so that the statement may be repeated.
const claim: Statement = {
  name: 'claim_requests',
  text: `WITH orphaned AS (
      UPDATE backup_run_requests AS request SET status = 'failed' FROM backup_runs AS run
      WHERE request.status = 'claimed' AND run.id = request.run_id AND run.status <> 'running'
    ), pending AS (
      SELECT id FROM backup_run_requests WHERE status = 'pending' ORDER BY id
      FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE backup_run_requests AS request
      SET status = 'claimed', claimed_at = now(), run_id = $1::int
      FROM pending WHERE request.id = pending.id
      RETURNING request.id, target_repo, requested_by, reason
    )
    SELECT id, target_repo AS target, requested_by AS "requestedBy", reason FROM (
      SELECT * FROM claimed
      UNION ALL
      SELECT id, target_repo, requested_by, reason FROM backup_run_requests
      WHERE run_id = $1::int AND status = 'claimed'
    ) AS request ORDER BY id`,
};

/**
 * Claims every pending request for a run and returns them, oldest first. Two workers never claim the
 * same one (decisions 3: pending → claimed → completed or failed). `finishRun` closes them.
 */
export function claimRequests(db: Database, runId: number): Promise<ClaimedRequest[]> {
  return db.query<ClaimedRequest>(claim, [runId]);
}
