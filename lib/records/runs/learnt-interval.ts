import { isStoppedRun } from './stopped-runs.ts';

/** How many finished runs the time between runs is learnt from. */
const RUNS_READ = 20;

/** The number of `gaps` between three runs. */
export const MIN_GAPS = 2;

/**
 * SQL for the time between the starts of the last finished runs that nobody stopped, in one row: `gaps`, how many there
 * are, and `median_ms`. `is_even` says whether they show a schedule: four in five are between half and one and a half
 * times the median.
 */
export const learntInterval = `
  SELECT gaps, median_ms, short_ms >= median_ms / 2 AND long_ms <= median_ms * 1.5 AS is_even FROM (
    SELECT count(gap_ms) AS gaps,
      percentile_cont(0.1) WITHIN GROUP (ORDER BY gap_ms) AS short_ms,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms) AS median_ms,
      percentile_cont(0.9) WITHIN GROUP (ORDER BY gap_ms) AS long_ms
    FROM (
      SELECT extract(epoch FROM started_at - lag(started_at) OVER (ORDER BY started_at))::float8 * 1000 AS gap_ms
      FROM (
        SELECT started_at FROM backup_runs AS run
        WHERE run.status <> 'running' AND isfinite(run.started_at) AND NOT ${isStoppedRun}
        ORDER BY run.started_at DESC, run.id DESC LIMIT ${RUNS_READ}
      ) AS finished
    ) AS gaps
  ) AS measured`;
