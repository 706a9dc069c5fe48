import type { Database, Statement } from '../platform/database/database.ts';
import { iso, jsonObject, readObject } from './page.ts';

/** How much of a failed run is told. */
export const failureLimits = {
  /** Repositories. */
  failures: 50,
  /** Newest error logs of each repository, and of the run itself. */
  logs: 10,
  /** Characters of one text. */
  text: 1_000,
} as const;

/** Newest error logs of a run that are looked at. */
const MAX_LOGS_READ = 20_000;

const bounded = (text: string) => `left(coalesce(${text}, ''), ${failureLimits.text})`;

/** A run counts as failed also when it reached its end and repositories failed in it (decisions 7). */
const isFailed = `(status = 'failed' OR failed > 0)`;

/** The newest error logs of a repository in lower case; those of none have an empty text. */
const logsOf = (repository: string) => `coalesce((
  SELECT json_agg(${bounded('log.message')} ORDER BY log.place) FROM log
  WHERE log.repository = ${repository} AND log.place <= ${failureLimits.logs}), '[]')`;

const factsOf = (name: string, chosenRun: string): Statement => ({
  name,
  text: `WITH run AS (${chosenRun}),
    failure AS (
      SELECT result.id, repo_full_name, result.status, result.error_message, created_at
      FROM backup_results AS result JOIN run ON result.run_id = run.id
      WHERE result.status IN ('failed', 'too_large')
    ),
    shown AS (SELECT * FROM failure ORDER BY id LIMIT ${failureLimits.failures}),
    log AS (
      SELECT lower(coalesce(repository, '')) AS repository, message, row_number() OVER (
        PARTITION BY lower(coalesce(repository, '')) ORDER BY created_at DESC, id DESC) AS place
      FROM (
        SELECT * FROM execution_logs AS log
        WHERE log.run_id = (SELECT id FROM run) AND lower(log.level) = 'error'
        ORDER BY log.created_at DESC, log.id DESC LIMIT ${MAX_LOGS_READ}
      ) AS newest
    )
    SELECT ${jsonObject(`
      SELECT run.id AS run_id, coalesce(${iso('run.completed_at')}, ${iso('run.started_at')}) AS failed_at,
        ${bounded('run.error_message')} AS run_error, ${logsOf("''")} AS run_error_logs,
        (SELECT count(*) FROM failure) AS failed_repos_count,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS repository, shown.status, ${bounded('shown.error_message')} AS error_message,
            ${logsOf('lower(repo_full_name)')} AS error_logs,
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
  `SELECT * FROM backup_runs AS run WHERE ${isFailed}
   ORDER BY run.started_at DESC, run.id DESC LIMIT 1`,
);
const failureOfRun = factsOf(
  'failure_of_run',
  'SELECT * FROM backup_runs AS run WHERE run.id = $1::bigint',
);

/**
 * What is known of a failed run, by default the one that started last, as JSON in one statement: its
 * failed repositories by id, each with its newest error logs and its newest successful commit, within
 * `failureLimits`, beside the three newest fixes (spec 3, Tool behaviour 4). Null when there is no such run.
 */
export function readFailure(db: Database, runId?: number): Promise<string | null> {
  if (runId === undefined) return readObject(db, latestFailure);
  return readObject(db, failureOfRun, [runId]);
}
