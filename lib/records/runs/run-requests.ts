import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { newestOfAll } from '../base/newest-results.ts';
import {
  iso,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readObject,
  readPage,
} from '../base/page.ts';

// Pending requests of other writers have no queue_key, so `waiting` looks for them. Of two concurrent calls
// the index on queue_key admits one, and the other gets the same row. `xmax` is 0 only in a newly inserted
// row. The target is also compared as given, because lower() may only support ASCII in some databases.
const queueRequest: Statement = {
  name: 'queue_run_request',
  text: `WITH ${newestOfAll}, known AS (
      SELECT WHERE $1 = '' OR EXISTS (
        SELECT FROM newest WHERE repo_full_name = $4 OR lower(repo_full_name) = $1
      )
    ), waiting AS (
      SELECT id, status, target_repo, requested_by, reason, created_at, true AS already_queued
      FROM backup_run_requests
      WHERE status = 'pending' AND lower(coalesce(target_repo, '')) = $1
      ORDER BY id LIMIT 1
    ), queued AS (
      INSERT INTO backup_run_requests AS request
        (status, target_repo, requested_by, reason, queue_key)
      SELECT 'pending', nullif($1, ''), $2, $3, $1
      FROM known WHERE NOT EXISTS (SELECT FROM waiting)
      ON CONFLICT (queue_key) WHERE status = 'pending' DO UPDATE SET queue_key = $1
      RETURNING request.id, request.status, request.target_repo, request.requested_by,
        request.reason, request.created_at, request.xmax <> 0 AS already_queued
    )
    SELECT row_to_json(answer)::text AS item FROM (
      SELECT id AS request_id, status, nullif(target_repo, '') AS target_repo, requested_by, reason,
        ${iso('created_at')} AS created_at, already_queued
      FROM (SELECT * FROM waiting UNION ALL SELECT * FROM queued) AS found, known
    ) AS answer`,
};

/** A request for a run. */
export interface NewRunRequest {
  /** The name of a repository, case-insensitive; null for all repositories. */
  target: string | null;
  requestedBy: string;
  reason: string;
}

/**
 * Queues a run, or finds the pending request for the same target, and returns it as JSON. Concurrent callers
 * get the same row, and exactly one of them gets `already_queued: false`. Null when there is no
 * such repository.
 */
export async function requestRun(db: Database, request: NewRunRequest): Promise<string | null> {
  const { target, requestedBy, reason } = request;
  // The worker lowercases the names of its sources in the same way.
  const key = target?.toLowerCase() ?? '';
  return readObject(db, queueRequest, [key, requestedBy, reason, target ?? '']);
}

const MAX_REASON_LENGTH = 2_000;

/**
 * A withdrawn request has the status `failed`, because other programs read this table and know no other way for a
 * request to end. Only a withdrawn one was never claimed.
 */
const requestColumns = `
  id, status, nullif(target_repo, '') AS target_repo, requested_by,
  ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason, ${iso('created_at')} AS created_at,
  ${iso('claimed_at')} AS claimed_at, run_id,
  status = 'failed' AND claimed_at IS NULL AND run_id IS NULL AS withdrawn`;

/** Every status of a request, in the order of its life. */
export const runRequestStatuses = ['pending', 'claimed', 'completed', 'failed'] as const;
type RunRequestStatus = (typeof runRequestStatuses)[number];

// The status is part of the statement, so that the planner can use the index of pending requests.
const requestsPage = (status: RunRequestStatus | 'any'): Statement => {
  const condition = status === 'any' ? 'true' : `status = '${status}'`;
  return {
    name: `run_requests_${status}_page`,
    text: pageQuery(
      `SELECT ${requestColumns} FROM backup_run_requests AS request WHERE ${condition}
       ORDER BY request.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
      `SELECT count(*) FROM backup_run_requests WHERE ${condition}`,
    ),
  };
};

/** Requests for a run, newest first; only those of a status if one is given. */
export function listRunRequests(
  db: Database,
  request: PageRequest,
  status?: RunRequestStatus,
): Promise<Page> {
  return readPage(db, requestsPage(status ?? 'any'), [request.limit, pageOffset(request)]);
}

// A worker claims with FOR UPDATE SKIP LOCKED, so only one of the two finds the request pending.
const withdraw: Statement = {
  name: 'withdraw_run_request',
  text: `WITH withdrawn AS (
      UPDATE backup_run_requests SET status = 'failed'
      WHERE id = $1::bigint AND status = 'pending' RETURNING *
    )
    SELECT ${jsonObject(`SELECT ${requestColumns} FROM withdrawn`)} AS item,
      EXISTS (SELECT FROM backup_run_requests WHERE id = $1::bigint) AS "isKnown"`,
};

/**
 * Withdraws a pending request, so that no worker claims it, and returns it as JSON. `item` is null when the request is
 * not pending (it was claimed or has ended) or does not exist.
 */
export async function withdrawRunRequest(
  db: Database,
  id: number,
): Promise<{ item: string | null; isKnown: boolean }> {
  const [row] = await db.query<{ item: string | null; isKnown: boolean }>(withdraw, [id]);
  return row ?? { item: null, isKnown: false };
}
