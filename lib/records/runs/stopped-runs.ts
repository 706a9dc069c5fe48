/**
 * SQL for whether the row `run` of backup_runs was stopped on purpose, with Ctrl-C or by whatever manages its worker. A
 * closed terminal (SIGHUP) does not count.
 */
export const isStoppedRun = `(run.status = 'failed' AND coalesce(run.stopped_by IN ('SIGINT', 'SIGTERM'), false))`;

/** SQL for the last run that nobody stopped: the next one is due an interval after its start. */
export const lastStartedRun = `
  SELECT id, status, started_at FROM backup_runs AS run WHERE isfinite(run.started_at) AND NOT ${isStoppedRun}
  ORDER BY run.started_at DESC, run.id DESC LIMIT 1`;
