/**
 * SQL for a time: a store or login that was last tried before it is no longer in use. It is a week before the start of
 * the last run: if it were a week before now, incidents would end before each weekly run.
 */
export const inUseSince = (now: string) => `(least(${now}, (
    SELECT run.started_at FROM backup_runs AS run WHERE isfinite(run.started_at)
    ORDER BY run.started_at DESC, run.id DESC LIMIT 1
  )) - interval '7 days')`;
