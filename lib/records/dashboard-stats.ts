import type { Database, Statement } from '../database/database.ts';
import { newestResults } from './base/newest-results.ts';
import { iso } from './base/page.ts';
import { allLogsTotal } from './logs/totals.ts';
import {
  type Judging,
  judgingBy,
  judgingValues,
  stateCountsSql,
  withStates,
} from './repositories/repository-states.ts';
import { newestRun } from './runs/last-runs.ts';
import { largestResult, readStats, runTotals, sizesAndAnalytics } from './runs/run-metrics.ts';
import { runStatusSql } from './runs/runs.ts';

const dashboardStats: Statement = {
  name: 'dashboard_stats',
  text: `WITH ${newestResults},
    ${judgingBy('$1', '$2', '$3')},
    counts AS (${stateCountsSql(`(${withStates('newest')}) AS known`)}),
    totals AS (SELECT ${runTotals} FROM backup_runs),
    last AS (${newestRun(`${runStatusSql} AS status, started_at`)}),
    largest AS (${largestResult})
    SELECT row_to_json(stats)::text AS item FROM (
      SELECT total_runs, total_repos, total_successful, total_failed, total_skipped,
        (SELECT total FROM counts) AS distinct_repos,
        (SELECT row_to_json(counts) FROM counts) AS repositories, (${allLogsTotal}) AS total_logs,
        CASE WHEN total_repos > 0
          THEN greatest(0, least(100, 100 * (1 - total_failed::float8 / total_repos)))
          ELSE 0 END AS success_rate,
        coalesce(last.status, '') AS last_run_status, ${iso('last.started_at')} AS last_run_at,
        avg_duration_ms, ${sizesAndAnalytics}
      FROM totals LEFT JOIN last ON true LEFT JOIN largest ON true
    ) AS stats`,
};

/** The DashboardStats over all runs. */
export function readDashboardStats(db: Database, judging: Judging): Promise<string> {
  return readStats(db, dashboardStats, judgingValues(judging));
}
