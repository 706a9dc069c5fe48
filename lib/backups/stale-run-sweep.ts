import { type Repeating, repeat } from '../async.ts';
import type { BackupsConfig } from '../config/backups.ts';
import type { Deps } from '../deps.ts';
import { sweepStaleRuns } from '../records/stale-runs.ts';
import { updateActiveGeneration } from '../search/update-active-generation.ts';

/** Time between sweeps. A database that was not used for longer is left asleep. */
const SWEEP_INTERVAL_MS = 10 * 60_000;

export type SweepOutcome = { swept: number; run_ids: number[] } | { skipped: true; reason: string };

/**
 * Fails runs whose worker stopped, and enqueues new records for search. Does not touch an idle database, so
 * that one that scales to zero can sleep.
 */
export async function sweep(deps: Deps<BackupsConfig>): Promise<SweepOutcome> {
  const now = deps.clock.now();
  const lastUse = await deps.databaseUse.lastUse();
  if (lastUse === null || now - lastUse > SWEEP_INTERVAL_MS) {
    return { skipped: true, reason: 'the database is not in use' };
  }
  const staleAfterMs = deps.config.STALE_RUN_AFTER_MINUTES * 60_000;
  const runIds = await sweepStaleRuns(deps.databaseUse.unnoted, { now, staleAfterMs });
  for (const run_id of runIds)
    deps.log.warn('marked a run as failed: its worker stopped', { run_id });
  await updateSearch(deps);
  return { swept: runIds.length, run_ids: runIds };
}

/** Adds new records to the active embedding generation. A failure is logged; the runs are already swept. */
async function updateSearch({
  databaseUse,
  clock,
  log,
  redactor,
}: Deps<BackupsConfig>): Promise<void> {
  try {
    await updateActiveGeneration({ db: databaseUse.unnoted, clock, log, redactor });
  } catch (error) {
    log.error('new records were not embedded', { error });
  }
}

/** Sweeps every 10 minutes until stopped, for servers without the platform's cron. */
export function startStaleRunSweep(deps: Deps<BackupsConfig>): Repeating {
  const { clock, log } = deps;
  return repeat(() => sweep(deps), {
    what: 'the sweep of stale runs',
    intervalMs: SWEEP_INTERVAL_MS,
    clock,
    log,
  });
}
