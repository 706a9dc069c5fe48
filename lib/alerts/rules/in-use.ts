/**
 * SQL for the time before which a store or a login was tried last that is no longer in use: a week before the last run
 * started. Counted from now, one of runs that are a week apart would leave its incident before each of them.
 */
export const inUseSince = (now: string) => `(least(${now}, (
    SELECT run.started_at FROM backup_runs AS run WHERE isfinite(run.started_at)
    ORDER BY run.started_at DESC, run.id DESC LIMIT 1
  )) - interval '7 days')`;
