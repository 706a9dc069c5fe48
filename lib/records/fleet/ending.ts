import type { Database, Statement } from '../../database/database.ts';
import type { RunFault } from '../runs/run-faults.ts';
import { jobLease, type Member } from './members.ts';

/** Maximum number of failures in a report. */
const MAX_FAILURES = 1_000;

/** A repository that no member could back up. */
export interface LeftJob {
  /** A 64-bit integer. */
  id: string;
  repository: string;
  /** 1 if only the member that listed it could read it. */
  isOwn: number;
  gitHostUrl: string | null;
  tries: number;
}

const takeLeft: Statement = {
  name: 'take_left_jobs',
  text: `UPDATE run_jobs SET claimed_by = $2, lease_until = now() + ${jobLease}
    WHERE run_id = $1::int AND state = 'open' AND kind = 'repository'
      AND EXISTS (
        SELECT FROM run_jobs AS last WHERE last.run_id = $1::int AND last.kind = 'end'
          AND last.state = 'open' AND last.claimed_by = $2
      )
    RETURNING id::text, repository, (only_member IS NOT NULL)::int AS "isOwn",
      git_host_url AS "gitHostUrl", tries`,
};

/** Gives all jobs that are left to the member that holds the run's end job. */
export function takeLeftJobs(
  db: Database,
  { runId, id }: Pick<Member, 'runId' | 'id'>,
): Promise<LeftJob[]> {
  return db.query<LeftJob>(takeLeft, [runId, id]);
}

const failedRequests: Statement = {
  name: 'failed_requests_of_shared_run',
  text: `SELECT id FROM backup_run_requests AS request
    WHERE run_id = $1::int AND status = 'claimed' AND coalesce(target_repo, '') <> ''
      AND (NOT EXISTS (
        SELECT FROM run_jobs AS job WHERE job.run_id = $1::int AND job.kind = 'repository'
          AND lower(job.repository) = lower(target_repo)
      ) OR EXISTS (
        SELECT FROM backup_results AS result WHERE result.run_id = $1::int
          AND lower(result.repo_full_name) = lower(target_repo)
          AND result.status IN ('failed', 'too_large')
      ))
    ORDER BY id`,
};

/** Ids of the requests that a run claimed and whose repository failed or is unknown. */
export async function listFailedRequests(db: Database, runId: number): Promise<number[]> {
  const rows = await db.query<{ id: number }>(failedRequests, [runId]);
  return rows.map(({ id }) => id);
}

/** The figures of a run, over all its members. */
export interface SharedRunFigures {
  status: string;
  errorMessage: string;
  fault: RunFault | null;
  total: number;
  successful: number;
  failed: number;
  skipped: number;
  empty: number;
  /** Sources that were never read, each with the reason. */
  unread: { source: string; errorMessage: string }[];
  durationMs: number;
  /** `fault` is the kind of the failure; null if it was not recorded. */
  failures: { repository: string; errorMessage: string; fault: string | null }[];
}

const figures: Statement = {
  name: 'figures_of_shared_run',
  text: `SELECT json_build_object(
      'status', status, 'errorMessage', coalesce(error_message, ''), 'fault', fault,
      'total', coalesce(total_repos, 0), 'successful', coalesce(successful, 0),
      'failed', coalesce(failed, 0), 'skipped', coalesce(skipped, 0),
      'empty', (SELECT count(*) FROM backup_results WHERE run_id = $1::int AND status = 'empty'),
      'unread', (SELECT coalesce(json_agg(json_build_object('source', key, 'errorMessage', value)), '[]')
        FROM jsonb_each_text(unread_sources)),
      'durationMs', coalesce(duration_ms, 0),
      'failures', (SELECT coalesce(json_agg(failure), '[]') FROM (
        SELECT repo_full_name AS repository, coalesce(error_message, '') AS "errorMessage", fault
        FROM backup_results WHERE run_id = $1::int AND status IN ('failed', 'too_large')
        ORDER BY id LIMIT ${MAX_FAILURES}
      ) AS failure)
    )::text AS figures
    FROM backup_runs WHERE id = $1::int`,
};

/** Reads the figures of a run; null if its row no longer exists. */
export async function readSharedFigures(
  db: Database,
  runId: number,
): Promise<SharedRunFigures | null> {
  const [row] = await db.query<{ figures: string }>(figures, [runId]);
  return row === undefined ? null : (JSON.parse(row.figures) as SharedRunFigures);
}

const clear = (name: string, from: string): Statement => ({
  name: `clear_${name}`,
  text: `DELETE FROM ${from}`,
});
const ofRun = [
  clear('run_jobs', 'run_jobs WHERE run_id = $1::int'),
  clear('run_members', 'run_members WHERE run_id = $1::int'),
];
// Run ids start over in a database that was emptied.
const began = '(SELECT started_at FROM backup_runs WHERE id = $1::int)';
const ofOthers = [
  clear('other_run_jobs', `run_jobs WHERE run_id <> $1::int OR created_at < ${began}`),
  clear('other_run_members', `run_members WHERE run_id <> $1::int OR seen_at < ${began}`),
];

/** Deletes the jobs and members of a run that has ended. */
export async function clearSharedRun(db: Database, runId: number): Promise<void> {
  for (const statement of ofRun) await db.query(statement, [runId]);
}

/**
 * Deletes the jobs and members of every run but the active one, which has just begun: leftovers of runs whose workers
 * were all killed.
 */
export async function clearOtherRuns(db: Database, active: number): Promise<void> {
  for (const statement of ofOthers) await db.query(statement, [active]);
}
