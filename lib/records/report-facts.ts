import type { Database, Statement } from '../database/database.ts';
import { newestResults } from './base/newest-results.ts';
import { iso, jsonObject, readObject } from './base/page.ts';
import type { Proofs } from './drills/read-proofs.ts';
import { mostNeededProofs, proofCounts, proofStates } from './drills/states.ts';
import { newestRun } from './runs/last-runs.ts';
import { hasFailures } from './runs/run-failures.ts';
import { runStatusSql } from './runs/runs.ts';

/** Limits on the content of a report. */
const reportLimits = {
  /** Runs in a history. */
  runs: 30,
  /** Repositories of a run. */
  results: 200,
  /** Days of a summary. */
  days: 30,
  /** Repositories in each ranking of a summary. */
  repositories: 20,
  /** Failures per run that a summary counts. */
  failuresOfRun: 10_000,
  /** Characters of one text. */
  text: 1_000,
} as const;

/** Totals of one or more runs. */
export interface Figures {
  total_repos: number;
  successful: number;
  failed: number;
  skipped: number;
  /** The duration of a run; the mean over finished runs for several. */
  duration_ms: number;
  /** The total size of the created archives. */
  size_bytes: number;
}

/** The totals of one run. */
export interface RunFigures extends Figures {
  id: number;
  /** ISO 8601 in UTC; null when it was never written. */
  started_at: string | null;
  status: string;
}

/** A run with its results, failures first. */
export interface RunFacts {
  run: RunFigures & { error_message: string };
  results: {
    repository: string;
    status: string;
    size_bytes: number;
    duration_ms: number;
    error_message: string;
  }[];
  results_count: number;
  /** Results of empty repositories. */
  empty_count: number;
  /** The run and those before it, newest first. */
  history: RunFigures[];
}

/** The totals of several runs. */
export interface SumFigures extends Figures {
  runs: number;
}

/** A summary of the last `reportLimits.days` days. */
export interface SummaryFacts extends SumFigures {
  from: string;
  until: string;
  failed_runs: number;
  /** By UTC day, newest first, without days that have no runs. */
  days: (SumFigures & { date: string })[];
  /** Most failures first. */
  failing: { repository: string; failures: number; error_message: string }[];
  largest: { repository: string; size_bytes: number; last_backed_up: string }[];
  repositories: number;
  /** How many of them a restore drill has proven restorable, and those that need a proof most. */
  proofs: Proofs;
  /** The total size of the newest archives of all repositories. */
  stored_bytes: number;
}

const text = (column: string) => `left(coalesce(${column}, ''), ${reportLimits.text})`;

const sizeOfRun = `(SELECT coalesce(sum(archive_size_bytes), 0) FROM backup_result_totals AS total
  WHERE total.run_key = run.id)`;

const counts = `coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
  coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped`;

const figures = `run.id, ${iso('run.started_at')} AS started_at, ${runStatusSql} AS status, ${counts},
  coalesce(duration_ms, 0) AS duration_ms, ${sizeOfRun} AS size_bytes`;

/** SQL for the run `chosen` and the runs before it, newest first. */
const history = `(SELECT coalesce(json_agg(item), '[]') FROM (
  SELECT ${figures} FROM backup_runs AS run
  WHERE (run.started_at, run.id) <= (SELECT chosen.started_at, chosen.id FROM chosen)
  ORDER BY run.started_at DESC, run.id DESC LIMIT ${reportLimits.runs}
) AS item)`;

const latest = newestRun('*');
const ofId = 'SELECT * FROM backup_runs AS run WHERE run.id = $1::bigint';

const runFactsOf = (name: string, chosen: string): Statement => ({
  name,
  text: `WITH chosen AS (${chosen})
    SELECT ${jsonObject(`
      SELECT (SELECT row_to_json(item) FROM (
          SELECT ${figures}, ${text('error_message')} AS error_message FROM chosen AS run
        ) AS item) AS run,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS repository, result.status,
            coalesce(result.archive_size_bytes, 0) AS size_bytes,
            coalesce(result.duration_ms, 0) AS duration_ms,
            ${text('result.error_message')} AS error_message
          FROM backup_results AS result WHERE result.run_id = chosen.id
          ORDER BY result.status IN ('failed', 'too_large') DESC, result.id
          LIMIT ${reportLimits.results}
        ) AS item) AS results,
        (SELECT count(*) FROM backup_results AS result WHERE result.run_id = chosen.id) AS results_count,
        (SELECT count(*) FROM backup_results AS result
          WHERE result.run_id = chosen.id AND result.status = 'empty') AS empty_count,
        ${history} AS history
      FROM chosen`)} AS item`,
});

const factsOfLatestRun = runFactsOf('report_facts_of_latest_run', latest);
const factsOfRun = runFactsOf('report_facts_of_run', ofId);

/** The data for a report about a run, by default the latest one. Null when there is no such run. */
export async function readRunFacts(db: Database, runId?: number): Promise<RunFacts | null> {
  const item =
    runId === undefined
      ? await readObject(db, factsOfLatestRun)
      : await readObject(db, factsOfRun, [runId]);
  return item === null ? null : JSON.parse(item);
}

const historyStatement: Statement = {
  name: 'report_run_history',
  text: `WITH chosen AS (${ofId}) SELECT ${history}::text AS item`,
};

/** A run and the `reportLimits.runs` before it, newest first. */
export async function readRunHistory(db: Database, runId: number): Promise<RunFigures[]> {
  const item = await readObject(db, historyStatement, [runId]);
  return JSON.parse(item ?? '[]');
}

const sums = `count(*) AS runs, coalesce(sum(total_repos), 0) AS total_repos,
  coalesce(sum(successful), 0) AS successful, coalesce(sum(failed), 0) AS failed,
  coalesce(sum(skipped), 0) AS skipped, coalesce(sum(size_bytes), 0) AS size_bytes,
  coalesce(round(avg(duration_ms) FILTER (WHERE status <> 'running' AND duration_ms > 0)), 0) AS duration_ms`;

const summaryOf = (name: string, end: string): Statement => ({
  name,
  text: `WITH ${newestResults},
    span AS (SELECT "end" - interval '${reportLimits.days} days' AS "start", "end" FROM (${end}) AS it),
    proof_states AS MATERIALIZED (
      ${proofStates('newest', '(SELECT "end" FROM span)', '(SELECT greatest("end", now()) FROM span)')}
    ),
    run AS (
      SELECT run.id, run.started_at, run.status, run.unread_sources, ${counts}, duration_ms, ${sizeOfRun} AS size_bytes
      FROM backup_runs AS run, span
      WHERE run.started_at > span."start" AND run.started_at <= span."end"
    ),
    failure AS (
      SELECT result.* FROM run CROSS JOIN LATERAL (
        -- The limit keeps the planner from reading the results of all runs at once.
        SELECT id, repo_full_name, error_message FROM backup_results
        WHERE run_id = run.id AND backup_results.status IN ('failed', 'too_large')
        ORDER BY id LIMIT ${reportLimits.failuresOfRun}
      ) AS result WHERE run.failed > 0 OR run.status = 'failed'
    )
    SELECT ${jsonObject(`
      SELECT ${iso('span."start"')} AS "from", ${iso('span."end"')} AS until, total.*,
        (SELECT count(*) FROM run WHERE ${hasFailures}) AS failed_runs,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT left(${iso('started_at')}, 10) AS date, ${sums} FROM run GROUP BY 1 ORDER BY 1 DESC
        ) AS item) AS days,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS repository, count(*) AS failures,
            ${text('(array_agg(error_message ORDER BY id DESC))[1]')} AS error_message
          FROM failure GROUP BY repo_full_name
          ORDER BY count(*) DESC, repo_full_name LIMIT ${reportLimits.repositories}
        ) AS item) AS failing,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS repository, archive_size_bytes AS size_bytes,
            ${iso('newest.created_at')} AS last_backed_up
          FROM newest WHERE archive_size_bytes > 0
          ORDER BY archive_size_bytes DESC, repo_full_name LIMIT ${reportLimits.repositories}
        ) AS item) AS largest,
        (SELECT count(*) FROM newest) AS repositories,
        (SELECT row_to_json(item) FROM (
          SELECT counts.*, ${mostNeededProofs('proof_states', reportLimits.repositories)} AS most_needed
          FROM (${proofCounts('proof_states')}) AS counts
        ) AS item) AS proofs,
        (SELECT coalesce(sum(archive_size_bytes), 0) FROM newest) AS stored_bytes
      FROM span, (SELECT ${sums} FROM run) AS total`)} AS item`,
});

const summaryUntil = summaryOf('report_summary', 'SELECT $1::timestamptz AS "end"');
const summaryUntilRun = summaryOf(
  'report_summary_until_run',
  'SELECT started_at AS "end" FROM backup_runs WHERE id = $1::bigint AND started_at IS NOT NULL',
);

/**
 * The summary for the `reportLimits.days` days before `now` (milliseconds since the epoch), or before the
 * start of a run. Null when there is no such run.
 */
export async function readSummaryFacts(
  db: Database,
  { now, runId }: { now: number; runId?: number | undefined },
): Promise<SummaryFacts | null> {
  const item =
    runId === undefined
      ? await readObject(db, summaryUntil, [new Date(now).toISOString()])
      : await readObject(db, summaryUntilRun, [runId]);
  return item === null ? null : JSON.parse(item);
}
