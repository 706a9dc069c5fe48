import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { newestResults } from '../base/newest-results.ts';
import { iso } from '../base/page.ts';
import { latestSnapshotQuery } from '../base/snapshots.ts';
import { allLogsTotal } from '../logs/totals.ts';
import { isStoppedRun } from './last-runs.ts';
import { runStatusSql } from './runs.ts';

const STATS_TIMEOUT_MS = 15_000;

/** The totals over a set of runs, also used by dashboard-stats.ts. */
export const runTotals = `
  count(*) AS total_runs, coalesce(sum(total_repos), 0) AS total_repos,
  coalesce(sum(successful), 0) AS total_successful, coalesce(sum(failed), 0) AS total_failed,
  coalesce(sum(skipped), 0) AS total_skipped,
  coalesce(round(avg(duration_ms) FILTER (WHERE status <> 'running' AND duration_ms > 0)), 0)
    AS avg_duration_ms`;

/** The largest archive ever recorded; the newest of equal ones. */
export const largestResult = `
  SELECT archive_size_bytes, repo_full_name FROM backup_results
  WHERE archive_size_bytes > 0 ORDER BY archive_size_bytes DESC NULLS LAST, id DESC LIMIT 1`;

/** The all-time columns at the end of the response, in order. */
export const sizesAndAnalytics = `
  (SELECT coalesce(sum(archive_size_bytes), 0) FROM backup_result_totals) AS total_size_bytes,
  coalesce(largest.archive_size_bytes, 0) AS largest_archive_bytes,
  coalesce(largest.repo_full_name, '') AS largest_repository,
  (SELECT row_to_json(snapshot) FROM (${latestSnapshotQuery}) AS snapshot) AS latest_analytics`;

const runMetrics: Statement = {
  name: 'run_metrics',
  text: `WITH ${newestResults},
    runs AS (
      SELECT id, ${runStatusSql} AS status, started_at, total_repos, successful, failed, skipped,
        (SELECT count(*) FROM jsonb_object_keys(unread_sources)) AS unread, duration_ms, ${isStoppedRun} AS is_stopped
      FROM backup_runs AS run WHERE started_at >= $1::timestamptz
    ),
    totals AS (SELECT ${runTotals} FROM runs),
    largest AS (${largestResult})
    SELECT row_to_json(metrics)::text AS item FROM (
      SELECT (SELECT coalesce(json_agg(run), '[]') FROM (
          SELECT id, status, ${iso('started_at')} AS started_at, is_stopped,
            coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
            coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped, unread,
            coalesce(duration_ms, 0) AS duration_ms
          FROM runs ORDER BY runs.started_at, runs.id
        ) AS run) AS runs,
        total_runs, avg_duration_ms, total_successful, total_failed, total_skipped,
        (SELECT count(*) FROM newest) AS distinct_repos, (${allLogsTotal}) AS total_logs,
        ${sizesAndAnalytics}
      FROM totals LEFT JOIN largest ON true
    ) AS metrics`,
};

/**
 * The response of GET /api/metrics: the runs that started at `since` (milliseconds since the epoch) or
 * later, oldest first, with their totals and all-time figures.
 */
export function readRunMetrics(db: Database, since: number): Promise<string> {
  return readStats(db, runMetrics, [new Date(since).toISOString()]);
}

/** Runs a statement that returns one JSON object in the column `item`. */
export async function readStats(
  db: Database,
  statement: Statement,
  values: SqlValue[],
): Promise<string> {
  const timeoutMs = STATS_TIMEOUT_MS;
  const [row] = await db.query<{ item: string }>(statement, values, { timeoutMs });
  if (!row) throw new Error(`${statement.name} returned no row`);
  return row.item;
}
