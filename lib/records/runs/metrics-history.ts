import type { Database, Statement } from '../../database/database.ts';
import { iso, readObject } from '../base/page.ts';

const finishedMean = (column: string) =>
  `coalesce(round(avg(${column}) FILTER (WHERE status <> 'running' AND ${column} > 0)), 0)`;

const metricsHistory: Statement = {
  name: 'metrics_history',
  text: `WITH runs AS (
      SELECT left(${iso('started_at')}, 10) AS date, status, duration_ms,
        coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
        coalesce(failed, 0) AS failed
      FROM backup_runs WHERE started_at >= $1::timestamptz
    )
    SELECT json_build_object(
      'average_run_duration_ms', ${finishedMean('duration_ms')},
      'aggregated_success_rate', CASE WHEN sum(total_repos) > 0
        THEN greatest(0, least(1, 1 - sum(failed)::float8 / sum(total_repos))) ELSE 0 END,
      'history', (SELECT coalesce(json_agg(day), '[]') FROM (
        SELECT date, count(*) AS runs, sum(successful) AS successful, sum(failed) AS failed,
          ${finishedMean('duration_ms')} AS avg_duration_ms
        FROM runs GROUP BY date ORDER BY date DESC
      ) AS day)
    )::text AS item FROM runs`,
};

/**
 * Statistics of the runs that started at `since` (milliseconds since the epoch) or later, in total and by
 * UTC day, newest first, as JSON.
 */
export async function readMetricsHistory(db: Database, since: number): Promise<string> {
  const item = await readObject(db, metricsHistory, [new Date(since).toISOString()]);
  if (item === null) throw new Error(`${metricsHistory.name} returned no row`);
  return item;
}
