import type { Database, Statement } from '../../database/database.ts';
import { type RepositoryResult, resultValues, storeResult } from '../recording/results.ts';
import { addUnread, type UnreadSource } from '../recording/unread.ts';
import { isActive, type Member } from './members.ts';

// The member that holds a job completes it, once. The job, its result and the run's counters become visible together. A
// repeated statement finds that the same member has completed the job.
const done = (member: string) => `job AS (
      UPDATE run_jobs SET state = 'done', lease_until = '-infinity'
      WHERE run_id = $1::int AND repository = $2 AND kind IN ('repository', 'found')
        AND state = 'open' AND claimed_by = ${member}
      RETURNING id
    )`;
const isOurs = (
  member: string,
) => `((EXISTS (SELECT FROM run) AND EXISTS (SELECT FROM job)) OR EXISTS (
      SELECT FROM run_jobs WHERE run_id = $1::int AND repository = $2
        AND kind IN ('repository', 'found') AND state = 'done' AND claimed_by = ${member}
    ))::int AS ours`;

const insertResult: Statement = {
  name: 'record_job_result',
  text: `WITH ${done('$16')}, ${storeResult({ isOurs: 'EXISTS (SELECT FROM job)' })}, run AS (
      UPDATE backup_runs SET heartbeat_at = now(),
        failed = coalesce(failed, 0) + CASE WHEN $3 IN ('failed', 'too_large') THEN 1 ELSE 0 END,
        successful = coalesce(successful, 0)
          + CASE WHEN $3 IN ('failed', 'too_large') THEN 0 ELSE 1 END
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM job)
      RETURNING id
    )
    SELECT ${isOurs('$16')}`,
};

/**
 * Stores the result of a job that a member holds, with its archive, and counts it. Safe to repeat. Returns false and
 * stores nothing if another member holds the job by now; also returns false if the run has ended.
 */
export async function recordJobResult(
  db: Database,
  { runId, id, machine }: Pick<Member, 'runId' | 'id' | 'machine'>,
  result: RepositoryResult,
): Promise<boolean> {
  const values = [...resultValues(runId, result, { machine }), id];
  const [row] = await db.query<{ ours: number }>(insertResult, values);
  return row?.ours === 1;
}

const insertUnchanged: Statement = {
  name: 'record_job_unchanged',
  text: `WITH ${done('$3')}, state AS (
      UPDATE worker_repo_state SET checked_at = now()
      WHERE repo_full_name = $2 AND EXISTS (SELECT FROM job)
    ), line AS (
      INSERT INTO execution_logs (run_id, level, message, repository)
      SELECT $1::int, 'info', $4, $2 WHERE EXISTS (SELECT FROM job)
    ), run AS (
      UPDATE backup_runs SET heartbeat_at = now(), skipped = coalesce(skipped, 0) + 1
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM job)
      RETURNING id
    )
    SELECT ${isOurs('$3')}`,
};

/** Records that a member found a repository unchanged, like `recordJobResult`. */
export async function recordJobUnchanged(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  { repository, message }: { repository: string; message: string },
): Promise<boolean> {
  const [row] = await db.query<{ ours: number }>(insertUnchanged, [runId, repository, id, message]);
  return row?.ours === 1;
}

const insertUnread: Statement = {
  name: 'record_job_unread',
  text: `WITH ${done('$3')}, line AS (
      INSERT INTO execution_logs (run_id, level, message)
      SELECT $1::int, 'error', $4 WHERE EXISTS (SELECT FROM job)
    ), run AS (
      UPDATE backup_runs SET heartbeat_at = now(), total_repos = greatest(0, coalesce(total_repos, 0) - 1),
        ${addUnread('$5', '$6')}
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM job)
      RETURNING id
    )
    SELECT ${isOurs('$3')}`,
};

/** Records that the source of a job was never read, like `recordJobResult`. */
export async function recordJobUnread(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  {
    repository,
    message,
    source,
    reason,
  }: Omit<UnreadSource, 'totalRepos'> & { repository: string },
): Promise<boolean> {
  const values = [runId, repository, id, message, source, reason];
  const [row] = await db.query<{ ours: number }>(insertUnread, values);
  return row?.ours === 1;
}
