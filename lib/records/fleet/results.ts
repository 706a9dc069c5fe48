import type { Database, Statement } from '../../database/database.ts';
import { archiveIsThere } from '../recording/archive-looks.ts';
import type { NewResult } from '../recording/results.ts';
import { addUnread, type UnreadSource } from '../recording/unread.ts';
import { isActive, type Member } from './members.ts';

// The member that holds a job completes it, once. The job, its result and the run's counters become visible together. A
// repeated statement finds that the same member has completed the job.
const done = `job AS (
      UPDATE run_jobs SET state = 'done', lease_until = '-infinity'
      WHERE run_id = $1::int AND repository = $2 AND kind IN ('repository', 'found')
        AND state = 'open' AND claimed_by = $3
      RETURNING id
    )`;
const isOurs = `((EXISTS (SELECT FROM run) AND EXISTS (SELECT FROM job)) OR EXISTS (
      SELECT FROM run_jobs WHERE run_id = $1::int AND repository = $2
        AND kind IN ('repository', 'found') AND state = 'done' AND claimed_by = $3
    ))::int AS ours`;

/** The result of a job. The statement itself updates the run's counters. */
export type JobResult = Omit<NewResult, 'runId' | 'counters' | 'position' | 'machine'>;

const insertResult: Statement = {
  name: 'record_job_result',
  text: `WITH ${done}, result AS (
      INSERT INTO backup_results
        (run_id, repo_full_name, status, commit_hash, archive_size_bytes, duration_ms, error_message,
          incomplete, tries, fault)
      SELECT $1::int, $2, $4, $5, $6::bigint, $7::bigint, $8, $9, $10::int, $14
      WHERE EXISTS (SELECT FROM job)
    ), other_spelling AS (
      DELETE FROM worker_repo_state
      WHERE $11::text IS NOT NULL AND lower(repo_full_name) = lower($2) AND repo_full_name <> $2
        AND EXISTS (SELECT FROM job)
    ), state AS (
      INSERT INTO worker_repo_state
        (repo_full_name, archive_key, archive_sha256, last_commit_hash, updated_at, checked_at,
          mirror_machine)
      SELECT $2, $11::text, $12::text, $5, now(), CASE WHEN $4 = 'completed' THEN now() END, $13
      WHERE $11::text IS NOT NULL AND EXISTS (SELECT FROM job)
      ON CONFLICT (repo_full_name) DO UPDATE SET archive_key = excluded.archive_key,
        archive_sha256 = excluded.archive_sha256, last_commit_hash = excluded.last_commit_hash,
        updated_at = excluded.updated_at,
        ${archiveIsThere},
        checked_at = coalesce(excluded.checked_at, worker_repo_state.checked_at),
        mirror_machine = excluded.mirror_machine
    ), emptied AS (
      UPDATE worker_repo_state SET checked_at = now()
      WHERE $4 = 'empty' AND $11::text IS NULL AND lower(repo_full_name) = lower($2)
        AND EXISTS (SELECT FROM job)
    ), run AS (
      UPDATE backup_runs SET heartbeat_at = now(),
        failed = coalesce(failed, 0) + CASE WHEN $4 IN ('failed', 'too_large') THEN 1 ELSE 0 END,
        successful = coalesce(successful, 0)
          + CASE WHEN $4 IN ('failed', 'too_large') THEN 0 ELSE 1 END
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM job)
      RETURNING id
    )
    SELECT ${isOurs}`,
};

/**
 * Stores the result of a job that a member holds, with its archive, and counts it. Safe to repeat. Returns false and
 * stores nothing if another member holds the job by now; also returns false if the run has ended.
 */
export async function recordJobResult(
  db: Database,
  { runId, id, machine }: Pick<Member, 'runId' | 'id' | 'machine'>,
  result: JobResult,
): Promise<boolean> {
  const { archive } = result;
  const [row] = await db.query<{ ours: number }>(insertResult, [
    ...[runId, result.repository, id, result.status, result.commitHash],
    ...[result.archiveSizeBytes, result.durationMs, result.errorMessage],
    ...[result.incomplete ?? null, result.tries ?? null],
    ...[archive?.key ?? null, archive?.sha256 ?? null, machine, result.fault ?? null],
  ]);
  return row?.ours === 1;
}

const insertUnchanged: Statement = {
  name: 'record_job_unchanged',
  text: `WITH ${done}, state AS (
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
    SELECT ${isOurs}`,
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
  text: `WITH ${done}, line AS (
      INSERT INTO execution_logs (run_id, level, message)
      SELECT $1::int, 'error', $4 WHERE EXISTS (SELECT FROM job)
    ), run AS (
      UPDATE backup_runs SET heartbeat_at = now(), failed = coalesce(failed, 0) + 1,
        ${addUnread('$5', '$6')}
      WHERE id = $1::int AND ${isActive} AND EXISTS (SELECT FROM job)
      RETURNING id
    )
    SELECT ${isOurs}`,
};

/** Records that the source of a job was never read, like `recordJobResult`. */
export async function recordJobUnread(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
  { repository, message, source, reason }: UnreadSource & { repository: string },
): Promise<boolean> {
  const values = [runId, repository, id, message, source, reason];
  const [row] = await db.query<{ ours: number }>(insertUnread, values);
  return row?.ours === 1;
}
