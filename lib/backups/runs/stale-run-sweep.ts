import { openMailboxes } from '../../alerts/channels/mailboxes.ts';
import { openAlertChannels } from '../../alerts/channels/open-channels.ts';
import { raiseAlerts } from '../../alerts/raise-alerts.ts';
import type { BackupsConfig } from '../../config/backups.ts';
import { isDatabaseUnavailable } from '../../database/database.ts';
import { signInBackground } from '../../drills/sign-drills.ts';
import { describeSigningFault } from '../../drills/signing-key.ts';
import type { Deps } from '../../http/deps.ts';
import { type Repeating, repeat } from '../../log/repeat.ts';
import { sweepStaleRuns } from '../../records/runs/stale-runs.ts';
import { updateActiveGeneration } from '../../search/update-active-generation.ts';
import { type OutageWatchDeps, watchOutage } from './outage-watch.ts';

/** Time between sweeps. A database that has been idle for longer is left asleep. */
const SWEEP_INTERVAL_MS = 10 * 60_000;
/** An idle database is swept once an hour, so that alerts are raised even if the worker has stopped. */
const HOUR_MS = 60 * 60_000;

export type SweepOutcome = { swept: number; run_ids: number[] } | { skipped: true; reason: string };

/**
 * Fails runs whose worker stopped, raises alerts, signs the results of drills, and enqueues new records for search. Touches an idle database only
 * once an hour, so that one that scales to zero can sleep. Throws SERVICE_UNAVAILABLE if the database is down; the
 * second sweep in a row to find it down notifies the channels.
 */
export async function sweep(deps: OutageWatchDeps): Promise<SweepOutcome> {
  const now = deps.clock.now();
  const outage = await watchOutage(deps);
  const lastUse = await deps.databaseUse.lastUse();
  const isIdle = lastUse === null || now - lastUse > SWEEP_INTERVAL_MS;
  if (!outage?.isKnown && isIdle && now % HOUR_MS >= SWEEP_INTERVAL_MS) {
    return { skipped: true, reason: 'the database is not in use' };
  }
  const staleAfterMs = deps.config.STALE_RUN_AFTER_MINUTES * 60_000;
  let runIds: number[];
  try {
    runIds = await sweepStaleRuns(deps.databaseUse.unrecorded, { now, staleAfterMs });
  } catch (error) {
    if (isDatabaseUnavailable(error)) await outage?.reportDown();
    throw error;
  }
  for (const run_id of runIds)
    deps.log.warn('marked a run as failed: its worker stopped', { run_id });
  await outage?.reportUp();
  await raise(deps);
  await signResults(deps);
  await updateSearch(deps);
  return { swept: runIds.length, run_ids: runIds };
}

/** Evaluates the rules and notifies the channels. A failure is only logged, because the runs are already swept. */
async function raise({
  databaseUse,
  clock,
  log,
  config,
  fetch,
}: Deps<BackupsConfig>): Promise<void> {
  try {
    const db = databaseUse.unrecorded;
    const channels = await openAlertChannels(config, { db, fetch, clock });
    const mailboxes = openMailboxes(config, { fetch, clock });
    await raiseAlerts({ db, clock, log, config, channels, mailboxes });
  } catch (error) {
    log.error('alerts could not be raised', { error });
  }
}

/** Signs the results of drills that no worker has signed, and makes the key for that. */
export async function signResults({
  databaseUse,
  clock,
  log,
  config,
}: Pick<Deps<BackupsConfig>, 'databaseUse' | 'clock' | 'log' | 'config'>): Promise<void> {
  const keys = config.CREDENTIALS_ENCRYPTION_KEY;
  const fault = await signInBackground({ db: databaseUse.unrecorded, clock, log, keys });
  if (fault !== 'other secret') return;
  log.error(`the results of restore drills are not signed: ${describeSigningFault(fault)}`);
}

/** Adds new records to the active embedding generation. A failure is only logged, as above. */
async function updateSearch({
  databaseUse,
  clock,
  log,
  redactor,
}: Deps<BackupsConfig>): Promise<void> {
  try {
    await updateActiveGeneration({ db: databaseUse.unrecorded, clock, log, redactor });
  } catch (error) {
    log.error('new records were not embedded', { error });
  }
}

/** Sweeps every 10 minutes until stopped, for servers without the platform's cron. */
export function startStaleRunSweep(deps: OutageWatchDeps): Repeating {
  const { clock, log } = deps;
  return repeat(() => sweep(deps), {
    what: 'the sweep of stale runs',
    intervalMs: SWEEP_INTERVAL_MS,
    clock,
    log,
  });
}
