import { lastStartedRun } from './last-runs.ts';

/**
 * SQL for when the next run is due: by the schedules of the server, or else by the CTE `usual` of `judgingBy`. NULL if
 * that is unknown, or if somebody has paused all schedules.
 */
export const nextRunAt = `(SELECT CASE WHEN EXISTS (SELECT FROM schedules)
  THEN (SELECT min(next_at) FROM schedules WHERE paused_at IS NULL)
  ELSE (SELECT last.started_at + interval_ms * interval '1 ms' FROM usual, (${lastStartedRun}) AS last) END)`;
