/**
 * SQL for whether the row `run` of backup_runs was stopped on purpose, on the page, with Ctrl-C or by whatever manages its worker. A
 * closed terminal (SIGHUP) does not count.
 */
export const isStoppedRun = `(run.status = 'failed' AND coalesce(run.stopped_by IN ('SIGINT', 'SIGTERM', 'person'), false))`;

/** SQL for whether the row `run` has ended. One that was stopped on purpose says nothing about the backups. */
export const hasEnded = `run.status <> 'running' AND isfinite(run.started_at) AND NOT ${isStoppedRun}`;

const newest = (columns: string, condition: string) => `
  SELECT ${columns} FROM backup_runs AS run WHERE ${condition}
  ORDER BY run.started_at DESC, run.id DESC LIMIT 1`;

/** SQL for columns of the row `run` that started last, whatever became of it. */
export const newestRun = (columns: string) => newest(columns, 'true');

/** SQL for columns of the last row `run` that ended, also if it was stopped on purpose. */
export const lastFinishedRun = (columns: string) =>
  newest(columns, `run.status <> 'running' AND isfinite(run.started_at)`);

/** SQL for columns of the last row `run` that ended and was not stopped on purpose. */
export const lastEndedRun = (columns: string) => newest(columns, hasEnded);

/** SQL for columns of the last row `run` that completed without failures, and with every source read. */
export const lastGoodRun = (columns: string) =>
  newest(
    columns,
    `run.status IN ('completed', 'success') AND coalesce(run.failed, 0) = 0 AND run.unread_sources IS NULL
      AND isfinite(run.started_at)`,
  );

/** SQL for the last run that nobody stopped: the next one is due an interval after its start. */
export const lastStartedRun = newest(
  'id, status, started_at',
  `isfinite(run.started_at) AND NOT ${isStoppedRun}`,
);
