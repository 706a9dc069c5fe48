import type { Database, Statement } from '../platform/database/database.ts';
import { iso, readObject } from './page.ts';

// Another writer's pending request for the same target has no queue_key, so it is looked for; of two of
// ours at once the index on queue_key lets one in, and the other gets that row. `xmax` is 0 in a row that
// this statement made and not in one that it found.
const queueRequest: Statement = {
  name: 'queue_run_request',
  text: `WITH waiting AS (
      SELECT id, status, target_repo, requested_by, reason, created_at, true AS already_queued
      FROM backup_run_requests
      WHERE status = 'pending' AND lower(coalesce(target_repo, '')) = $1
      ORDER BY id LIMIT 1
    ), queued AS (
      INSERT INTO backup_run_requests AS request
        (status, target_repo, requested_by, reason, queue_key)
      SELECT 'pending', nullif($1, ''), $2, $3, $1 WHERE NOT EXISTS (SELECT FROM waiting)
      ON CONFLICT (queue_key) WHERE status = 'pending' DO UPDATE SET queue_key = $1
      RETURNING request.id, request.status, request.target_repo, request.requested_by,
        request.reason, request.created_at, request.xmax <> 0 AS already_queued
    )
    SELECT row_to_json(answer)::text AS item FROM (
      SELECT id AS request_id, status, nullif(target_repo, '') AS target_repo, requested_by, reason,
        ${iso('created_at')} AS created_at, already_queued
      FROM (SELECT * FROM waiting UNION ALL SELECT * FROM queued) AS found
    ) AS answer`,
};

/** A wish for a run. */
export interface NewRunRequest {
  /** `owner/name` in lower case; null for all repositories. */
  target: string | null;
  requestedBy: string;
  reason: string;
}

/**
 * Queues a run, or finds the pending request for the same target, in one statement: callers at once get
 * one row, and one of them `already_queued` false. Returns it as JSON (spec 3, Tool behaviour 9).
 */
export async function requestRun(db: Database, request: NewRunRequest): Promise<string> {
  const { target, requestedBy, reason } = request;
  const answer = await readObject(db, queueRequest, [target ?? '', requestedBy, reason]);
  if (answer === null) throw new Error(`${queueRequest.name} answered no row`);
  return answer;
}
