import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso, jsonObject, readObject } from '../base/page.ts';

/** Limits on the details of a failed run. */
export const failureLimits = {
  /** Repositories. */
  failures: 2_000,
  /** Newest error logs of a repository, and of the run itself. */
  logs: 5,
  /** Sources that were never read. */
  unread: 50,
  /** Characters of one text. */
  text: 1_000,
} as const;

/** How many error logs of a run are read, newest first. */
const MAX_LOGS_READ = 20_000;

const bounded = (text: string) => cutTextSql(text, failureLimits.text);

/** SQL condition for runs with failures: a run can complete although repositories failed, or sources were never read. */
export const hasFailures = `(status = 'failed' OR failed > 0 OR unread_sources IS NOT NULL)`;

/** SQL condition for results that are failures. */
export const isFailedResult = (status: string) => `${status} IN ('failed', 'too_large')`;

const factsOf = (name: string, chosenRun: string): Statement => ({
  name,
  text: `WITH run AS (${chosenRun}),
    failure AS (
      SELECT result.id, repo_full_name, result.status, result.error_message, created_at
      FROM backup_results AS result JOIN run ON result.run_id = run.id
      WHERE ${isFailedResult('result.status')}
    ),
    shown AS (SELECT * FROM failure ORDER BY id LIMIT ${failureLimits.failures})
    SELECT ${jsonObject(`
      SELECT run.id AS run_id, run.status AS run_status,
        coalesce(${iso('run.completed_at')}, ${iso('run.started_at')}) AS ended_at,
        ${bounded('run.error_message')} AS run_error, coalesce(run.failed, 0) AS failed_count,
        (SELECT coalesce(json_agg(key ORDER BY key), '[]') FROM (
          SELECT ${bounded('key')} AS key FROM jsonb_object_keys(run.unread_sources) AS key
          ORDER BY key LIMIT ${failureLimits.unread}
        ) AS source) AS unread_sources,
        (SELECT count(*) FROM failure) AS failed_repos_count,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS repository, shown.status, ${bounded('shown.error_message')} AS error_message,
            nullif(success.commit_hash, '') AS last_successful_commit,
            coalesce((success.created_at, success.id) > (shown.created_at, shown.id), false) AS recovered
          FROM shown LEFT JOIN LATERAL (
            SELECT good.commit_hash, good.created_at, good.id FROM backup_results AS good
            WHERE good.repo_full_name = shown.repo_full_name AND good.status IN ('completed', 'success')
            ORDER BY good.created_at DESC, good.id DESC LIMIT 1
          ) AS success ON true
          ORDER BY shown.id
        ) AS item) AS failures,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT (SELECT max(link.run_id) FROM backup_run_fixes AS link WHERE link.fix_id = fix.id) AS run_id,
            ${bounded("concat_ws(': ', nullif(fix.title, ''), nullif(fix.description, ''))")} AS resolution
          FROM backup_fixes AS fix ORDER BY fix.created_at DESC, fix.id DESC LIMIT 3
        ) AS item) AS recent_fixes
      FROM run`)} AS item`,
});

const latestFailure = factsOf(
  'latest_failure',
  `SELECT * FROM backup_runs AS run WHERE ${hasFailures}
   ORDER BY run.started_at DESC, run.id DESC LIMIT 1`,
);
const failureOfRun = factsOf(
  'failure_of_run',
  'SELECT * FROM backup_runs AS run WHERE run.id = $1::bigint',
);

/**
 * Details of a failed run, by default the latest one, as JSON: its failed repositories by id, each with its
 * newest successful commit, within `failureLimits`, and the three newest fixes. Null when there is no such
 * run.
 */
export function readFailure(db: Database, runId?: number): Promise<string | null> {
  if (runId === undefined) return readObject(db, latestFailure);
  return readObject(db, failureOfRun, [runId]);
}

const errorLogs: Statement = {
  name: 'error_logs_of_repositories',
  text: `SELECT asked.name AS repository, ${bounded('message')} AS message FROM (
      SELECT lower(coalesce(repository, '')) AS repository, message, row_number() OVER (
        PARTITION BY lower(coalesce(repository, '')) ORDER BY created_at DESC, id DESC) AS place
      FROM (
        SELECT * FROM execution_logs AS log
        WHERE log.run_id = $1::bigint AND lower(log.level) = 'error'
        ORDER BY log.created_at DESC, log.id DESC LIMIT ${MAX_LOGS_READ}
      ) AS newest
    ) AS log JOIN unnest($2::text[]) AS asked (name) ON lower(asked.name) = log.repository
    WHERE place <= ${failureLimits.logs} ORDER BY asked.name, place`,
};

/**
 * The newest error logs of a run, newest first, for each of the given repositories. An empty name stands for
 * logs without a repository.
 */
export async function readErrorLogs(
  db: Database,
  runId: number,
  repositories: readonly string[],
): Promise<Map<string, string[]>> {
  const values = [runId, repositories];
  const rows = await db.query<{ repository: string; message: string }>(errorLogs, values);
  return new Map(
    [...Map.groupBy(rows, ({ repository }) => repository)].map(([repository, logs]) => [
      repository,
      logs.map(({ message }) => message),
    ]),
  );
}
