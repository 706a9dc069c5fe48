import { AppError } from '../errors.ts';
import {
  type ActiveRun,
  findActiveRun,
  type RunCounters,
  type RunEnding,
  startRun,
  writeProgress,
} from '../records/recording/runs.ts';
import { openJournal } from './journal.ts';
import { startHeartbeat } from './lease/heartbeat.ts';
import { takeMachineLease } from './lease/machine-lease.ts';
import { findFailedRequests } from './requests.ts';
import { backUp, type RunProgress } from './running/back-up.ts';
import { endRun } from './running/end-run.ts';
import type { RunDeps } from './running/run-deps.ts';
import type { Source } from './source.ts';
import { describeStop, RunStopped, stopMessages } from './stop.ts';
import { countRepositories } from './text.ts';
import type { FailedRepository } from './watching/failures.ts';
import { createProgressWriter } from './watching/progress-writer.ts';
import { tellAll } from './watching/run-events.ts';

/** How a run ended. */
export type RunReport = { status: 'refused'; active: ActiveRun | null } | EndedRun;

export interface EndedRun {
  status: 'completed' | 'failed';
  id: number;
  total: number;
  counters: RunCounters;
  empty: number;
  failures: FailedRepository[];
  /** Why the run failed, how many repositories failed, or that nothing was archived; else empty. */
  errorMessage: string;
  durationMs: number;
  /** The exit code of a command that performs a single run. */
  exitCode: number;
}

/**
 * Backs up `given`, or the repositories found by discovery, and records the run. Refused while another run is
 * active. A failed repository does not stop it. Throws only if the run could not be started.
 */
export async function performRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const { db, staleAfterMs, dataFolder } = deps;
  const lease = await takeMachineLease(dataFolder);
  if ('busy' in lease) {
    if (lease.busy) return { status: 'refused', active: await findActiveRun(db, staleAfterMs) };
    throw new AppError('SERVICE_UNAVAILABLE', `DATA_DIR cannot be used: ${lease.reason}`);
  }
  let isEnded = false;
  try {
    const totalRepos = given?.length ?? 0;
    const { abandoned } = lease;
    const started = await startRun(db, { totalRepos, staleAfterMs, abandoned });
    if ('active' in started) return { status: 'refused', active: started.active };
    await lease.note(started);
    const { isRecorded, ...report } = await recordRun(deps, started.id, given);
    isEnded = isRecorded;
    return report;
  } finally {
    await lease.release(isEnded);
  }
}

async function recordRun(
  deps: RunDeps,
  id: number,
  given: readonly Source[] | null,
): Promise<EndedRun & { isRecorded: boolean }> {
  const { clock, db, log } = deps;
  const began = clock.now();
  const lost = new AbortController();
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const activity = createProgressWriter({
    clock,
    write: (at) => writeProgress(db, id, at),
    // The heartbeat notices a database that stays away.
    onError: (error) => log.debug('the progress of a run could not be stored', { error }),
  });
  const events = tellAll([deps.events, activity]);
  const journal = openJournal({ ...deps, events, runId: id, signal });
  const heartbeat = startHeartbeat({
    clock,
    beat: () => journal.beat(activity.current()),
    onLost: (reason, cause) => lost.abort(new RunStopped(stopMessages[reason], { cause })),
  });
  const progress: RunProgress = {
    ...{ requests: [], sources: given ?? [], failed: new Set(), failures: [] },
    empty: 0,
  };
  let stop: { message: string; exitCode: number } | null = null;
  try {
    const stop = (error: unknown) => lost.abort(error);
    await backUp({ ...deps, events, journal, signal, stop }, id, given, progress);
  } catch (error) {
    const message = describeStop(error, signal, deps.log);
    stop = { message, exitCode: error instanceof RunStopped ? error.exitCode : 1 };
  } finally {
    await heartbeat.stop();
    events.closed();
  }
  const counters = journal.counters();
  const outcome = describeOutcome(counters, progress.empty);
  const ending: RunEnding = {
    id,
    status: stop === null ? 'completed' : 'failed',
    errorMessage: stop?.message ?? outcome.errorMessage,
    counters,
    failedRequests: findFailedRequests(progress.requests, progress.sources, progress.failed),
  };
  const lastLine = stop?.message ?? outcome.lastLine;
  const ended = await endRun(deps, journal, { ...ending, lastLine });
  const isGood = ended.status === 'completed' && counters.failed === 0;
  return {
    id,
    total: progress.sources.length,
    counters,
    empty: progress.empty,
    failures: progress.failures,
    durationMs: clock.now() - began,
    exitCode: stop?.exitCode ?? (isGood ? 0 : 1),
    ...ended,
  };
}

/** The messages of a completed run. Its counts include empty repositories as successful. */
function describeOutcome({ successful, failed }: RunCounters, empty: number) {
  const failures = failed > 0 ? [`${countRepositories(failed)} failed`] : [];
  const emptyOnes = empty > 0 ? [`${countRepositories(empty)} empty, nothing to archive`] : [];
  const archivedNothing = empty === successful ? emptyOnes : [];
  return {
    errorMessage: [...failures, ...archivedNothing].join('; '),
    lastLine: [...failures, ...emptyOnes].join('; '),
  };
}
