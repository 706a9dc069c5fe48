import type { Database, Statement } from '../../database/database.ts';
import { jsonObject } from '../base/page.ts';
import { type Judging, judgingBy, judgingValues } from '../repositories/repository-states.ts';
import { lastEndedRun, lastGoodRun } from '../runs/last-runs.ts';
import { nextRunAt } from '../runs/next-run.ts';
import { runStatusSql } from '../runs/runs.ts';
import { seconds } from './seconds.ts';

/** The metrics of runs. Times are seconds since 1970; null if it never happened. */
export interface RunMetrics {
  /** The last run that ended and was not stopped. */
  last: {
    status: 'completed' | 'failed';
    started_at: number;
    duration_seconds: number;
    successful: number;
    failed: number;
    skipped: number;
    /** Sources that were never read. */
    unread: number;
  } | null;
  /** When the last run without failures started. */
  good_at: number | null;
  is_running: boolean;
  expected_at: number | null;
  /** The time between runs, declared or learnt. */
  interval_seconds: number | null;
}

const metricsOfRuns: Statement = {
  name: 'metrics_of_runs',
  text: `WITH ${judgingBy('$1', '$2', '$3')}
    SELECT ${jsonObject(`
      SELECT
        (SELECT row_to_json(last) FROM (${lastEndedRun(`
          ${runStatusSql} AS status, ${seconds('run.started_at')} AS started_at,
          coalesce(duration_ms, 0) / 1000.0 AS duration_seconds, coalesce(successful, 0) AS successful,
          coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped,
          (SELECT count(*) FROM jsonb_object_keys(run.unread_sources)) AS unread`)}
        ) AS last) AS last,
        (${lastGoodRun(seconds('run.started_at'))}) AS good_at,
        EXISTS (SELECT FROM backup_runs WHERE status = 'running') AS is_running,
        (SELECT ${seconds('at')} FROM (SELECT ${nextRunAt} AS at OFFSET 0) AS next) AS expected_at,
        (SELECT interval_ms / 1000 FROM usual) AS interval_seconds`)} AS item`,
};

/** Reads the metrics of runs. Waits for at most `timeoutMs`. */
export async function readMetricsOfRuns(
  db: Database,
  judging: Judging,
  timeoutMs: number,
): Promise<RunMetrics> {
  const values = judgingValues(judging);
  const [row] = await db.query<{ item: string }>(metricsOfRuns, values, { timeoutMs });
  if (!row) throw new Error(`${metricsOfRuns.name} returned no row`);
  return JSON.parse(row.item);
}
