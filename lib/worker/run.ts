import { isDatabaseUnavailable } from '../database/database.ts';
import { AppError } from '../errors.ts';
import {
  type ActiveRun,
  findActiveRun,
  finishRun,
  type StartedRun,
  startRun,
} from '../records/recording/runs.ts';
import { cleanText } from '../text/clean-text.ts';
import { type MachineLease, takeMachineLease } from './archive/lease/machine-lease.ts';
import type { Source } from './base/source.ts';
import { describeStop, RunStopped, stopMessages } from './base/stop.ts';
import { backUp, newProgress } from './run/running/back-up.ts';
import { endRun } from './run/running/end-run.ts';
import { followRun } from './run/running/follow-run.ts';
import { findFailedRequests } from './run/running/requests.ts';
import type { RunDeps } from './run/schedule/run-deps.ts';
import { openRunTime } from './run/schedule/run-time.ts';
import { type DeliveryRemark, deliverSpools } from './run/spool/deliver-spools.ts';
import { openRunStore } from './run/spool/run-store.ts';
import { describeOutcome, type EndedRun, type RunReport } from './run/watching/report.ts';

/**
 * Backs up `given`, or the repositories found by discovery, and records the run. Refused while another run is
 * active. A failed repository does not stop it, nor does an unreachable database: the run is then spooled, and the
 * next one delivers it. Throws only if the run could not be started.
 */
export async function performRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const { dataFolder } = deps;
  const lease = await takeMachineLease(dataFolder);
  if ('busy' in lease) {
    const { holder } = lease;
    if (lease.busy) return { status: 'refused', active: await findActive(deps), why: null, holder };
    throw new AppError('SERVICE_UNAVAILABLE', `DATA_DIR cannot be used: ${lease.reason}`);
  }
  let isEnded = false;
  try {
    const { remarks, started } = await start(deps, given, lease.abandoned);
    if (started !== null && 'active' in started) {
      for (const { text } of remarks) deps.display.line(text);
      return { status: 'refused', active: started.active, why: null, holder: null };
    }
    // A run without a row is not noted: the note still names the run that was killed before.
    if (started !== null) await noteOrEnd(deps, lease, started);
    const { isRecorded, ...report } = await recordRun(deps, started, given, { lease, remarks });
    isEnded = started !== null && isRecorded;
    return report;
  } finally {
    lease.release(isEnded);
  }
}

/** Notes a run, or ends it if that fails: without a note it would stay open until it counts as abandoned. */
async function noteOrEnd({ db }: RunDeps, lease: MachineLease, started: StartedRun): Promise<void> {
  try {
    await lease.note(started);
  } catch (error) {
    const reason = `DATA_DIR cannot be written: ${(error as Error).message}`;
    const counters = { successful: 0, failed: 0, skipped: 0 };
    const ending = { id: started.id, counters, failedRequests: [] };
    await finishRun(db, { ...ending, status: 'failed', errorMessage: cleanText(reason) });
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

async function findActive({ db, staleAfterMs }: RunDeps): Promise<ActiveRun | null> {
  try {
    return await findActiveRun(db, staleAfterMs);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return null;
  }
}

/** Delivers earlier runs and starts one. `started` is null if the database is unreachable: the run then has no row. */
async function start(
  deps: RunDeps,
  given: readonly Source[] | null,
  abandoned: StartedRun | null,
): Promise<{
  remarks: DeliveryRemark[];
  started: Awaited<ReturnType<typeof startRun>> | null;
}> {
  const { db, staleAfterMs, scheduleMs, dataFolder } = deps;
  const { isAway, remarks } = await deliverSpools(deps, dataFolder);
  if (isAway) return { remarks, started: null };
  try {
    const totalRepos = given?.length ?? 0;
    return {
      remarks,
      started: await startRun(db, { totalRepos, staleAfterMs, abandoned, scheduleMs }),
    };
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return { remarks, started: null };
  }
}

async function recordRun(
  deps: RunDeps,
  run: StartedRun | null,
  given: readonly Source[] | null,
  { lease, remarks }: { lease: MachineLease; remarks: readonly DeliveryRemark[] },
): Promise<EndedRun & { isRecorded: boolean }> {
  const { clock } = deps;
  const began = clock.now();
  const lost = new AbortController();
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const stop = (error: unknown) => lost.abort(error);
  const { machine } = lease;
  const { journal, events, end } = await followRun(
    deps,
    (watchers) => openRunStore({ ...deps, events: watchers, run, machine, signal }),
    { stop, taken: stopMessages.taken },
  );
  const progress = newProgress(given ?? []);
  let stopped: { message: string; exitCode: number } | null = null;
  try {
    for (const { level, text } of remarks) await journal.note(level, text);
    // The run's heartbeat keeps every other worker away.
    const checkLease = () => Promise.resolve();
    const time = openRunTime(clock, journal);
    const context = { ...deps, events, journal, signal, stop, time, checkLease, hostName: null };
    await backUp(context, given, progress);
  } catch (error) {
    const message = describeStop(error, signal, deps.log);
    stopped = { message, exitCode: error instanceof RunStopped ? error.exitCode : 1 };
  } finally {
    await end();
    deps.events.closed();
  }
  const counters = journal.counters();
  const outcome = describeOutcome(counters, progress);
  const failedRequests = findFailedRequests(progress.requests, progress.sources, progress.failed);
  const ended = await endRun(deps, journal, {
    status: stopped === null ? 'completed' : 'failed',
    errorMessage: stopped?.message ?? outcome.errorMessage,
    counters,
    failedRequests,
    requests: progress.requests.map(({ id }) => id),
    lastLine: stopped?.message ?? outcome.lastLine,
  });
  const isGood = ended.status === 'completed' && counters.failed === 0 && progress.lost === 0;
  return {
    total: progress.sources.length,
    counters,
    empty: progress.empty,
    failures: progress.failures,
    durationMs: clock.now() - began,
    exitCode: stopped?.exitCode ?? (isGood ? 0 : 1),
    ...ended,
  };
}
