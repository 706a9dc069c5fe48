import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../base/page.ts';

/** A request for a run, as the worker reads it. */
export interface RunRequest {
  id: number;
  /** The repository's name; null for all repositories. */
  target: string | null;
  requestedBy: string;
  reason: string;
  /** ISO 8601. */
  createdAt: string;
}

/** The maximum number of requests per run, oldest first; later ones wait for the next run. */
const MAX_REQUESTS = 10_000;

const columns = `id, nullif(target_repo, '') AS target, requested_by AS "requestedBy", reason,
  ${iso('created_at')} AS "createdAt"`;

const selectPending: Statement = {
  name: 'pending_requests',
  text: `SELECT ${columns} FROM backup_run_requests WHERE status = 'pending' ORDER BY id LIMIT $1::int`,
};

/** The pending requests, oldest first. */
export function listPendingRequests(db: Database): Promise<RunRequest[]> {
  return db.query<RunRequest>(selectPending, [MAX_REQUESTS]);
}

// Requests claimed by a killed worker end with its run. Returns what this run has already claimed again, so
// that the statement is safe to retry.
const claim: Statement = {
  name: 'claim_requests',
  text: `WITH orphaned AS (
      UPDATE backup_run_requests AS request SET status = 'failed' FROM backup_runs AS run
      WHERE request.status = 'claimed' AND run.id = request.run_id AND run.status <> 'running'
    ), pending AS (
      SELECT id FROM backup_run_requests WHERE status = 'pending' AND id = ANY ($2::int[])
      FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE backup_run_requests AS request
      SET status = 'claimed', claimed_at = now(), run_id = $1::int
      FROM pending WHERE request.id = pending.id
      RETURNING request.id, target_repo, requested_by, reason, request.created_at
    )
    SELECT ${columns} FROM (
      SELECT * FROM claimed
      UNION ALL
      SELECT id, target_repo, requested_by, reason, created_at FROM backup_run_requests
      WHERE run_id = $1::int AND status = 'claimed'
    ) AS request ORDER BY id`,
};

/**
 * Claims the given requests that are still pending and returns all requests claimed by the run, oldest
 * first. Two workers never claim the same request. `finishRun` closes it.
 */
export function claimRequests(
  db: Database,
  runId: number,
  ids: readonly number[],
): Promise<RunRequest[]> {
  return db.query<RunRequest>(claim, [runId, ids]);
}
