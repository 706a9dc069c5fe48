import { hasEnded } from './last-runs.ts';

/** How many finished runs the time between runs is learnt from. */
const RUNS_READ = 20;

/** The number of `gaps` between three runs. */
export const MIN_GAPS = 2;

/** Runs that follow each other faster were started by hand. */
const MIN_GAP_MS = 15 * 60_000;

/** The CTE `finished` with the last finished runs that nobody stopped, from which the intervals below are read. */
export const finishedRuns = `
  finished AS MATERIALIZED (
    SELECT id, started_at, schedule_ms FROM backup_runs AS run
    WHERE ${hasEnded}
    ORDER BY run.started_at DESC, run.id DESC LIMIT ${RUNS_READ}
  )`;

/** SQL for whether the server has a schedule for all repositories, even if it is paused. */
export const hasSchedule = 'EXISTS (SELECT FROM schedules WHERE sources IS NULL)';

/**
 * SQL for the interval of the schedules of the server, or else of the worker that started the last runs with `--every`,
 * as `interval_ms`; no row if something else started the newest of them. Runs that a person started in between do not
 * count.
 */
export const workerInterval = `
  SELECT min(interval_ms)::float8 AS interval_ms FROM schedules
  WHERE sources IS NULL AND paused_at IS NULL HAVING count(*) > 0
  UNION ALL
  SELECT schedule_ms::float8 FROM (
    SELECT schedule_ms FROM finished WHERE schedule_ms IS DISTINCT FROM 0
    ORDER BY finished.started_at DESC, finished.id DESC LIMIT 1
  ) AS newest WHERE schedule_ms IS NOT NULL AND NOT ${hasSchedule}`;

/**
 * SQL for the time between the starts of the last finished runs that nobody stopped or started by hand, in one row:
 * `gaps`, how many there are, and `median_ms`. `is_usual` says whether most of them are between half and one and a half
 * times the median, and `is_even` whether they show a schedule, since four in five are.
 */
export const learntInterval = `
  SELECT gaps, median_ms, short_ms >= median_ms / 2 AND long_ms <= median_ms * 1.5 AS is_even,
    (SELECT count(*) FILTER (WHERE gap_ms BETWEEN median_ms / 2 AND median_ms * 1.5) * 2 > count(*)
     FROM unnest(all_ms) AS gap_ms) AS is_usual
  FROM (
    SELECT count(*) AS gaps, array_agg(gap_ms) AS all_ms,
      percentile_cont(0.1) WITHIN GROUP (ORDER BY gap_ms) AS short_ms,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms) AS median_ms,
      percentile_cont(0.9) WITHIN GROUP (ORDER BY gap_ms) AS long_ms
    FROM (
      SELECT extract(epoch FROM started_at - lag(started_at) OVER (ORDER BY started_at))::float8 * 1000 AS gap_ms
      FROM finished WHERE schedule_ms IS DISTINCT FROM 0
    ) AS gaps WHERE gap_ms >= ${MIN_GAP_MS}
  ) AS measured`;
