import { cleanText } from '../platform/clean-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/config/read.ts';
import type { Database } from '../platform/database/database.ts';
import { createGit } from '../platform/git.ts';
import type { Log } from '../platform/log.ts';
import { sweepScratch } from '../platform/scratch.ts';
import { type ClaimedRequest, claimRequests } from '../records/recording/requests.ts';
import {
  type ActiveRun,
  finishRun,
  type RunCounters,
  type RunEnding,
  startRun,
} from '../records/recording/runs.ts';
import { writeSnapshot } from '../records/recording/snapshots.ts';
import { makeArchiveFolder } from './archive.ts';
import type { Display } from './display.ts';
import { startHeartbeat } from './heartbeat.ts';
import { type Journal, openJournal } from './journal.ts';
import { findFailedRequests, noteRequests } from './requests.ts';
import { retryWhileUnavailable } from './retry.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Source } from './source.ts';
import { backUpSources } from './sources.ts';
import { describeStop, RunStopped, stopMessages, untilAborted } from './stop.ts';
import { countRepositories } from './text.ts';

/** What a run needs from outside. */
export interface RunDeps {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  /** What git gets of the process's environment. */
  environment: Environment;
  archiveFolder: string;
  staleAfterMs: number;
  /** Aborts with a RunStopped that says why. */
  signal: AbortSignal;
}

/** How a run ended. */
export type RunReport =
  | { status: 'refused'; active: ActiveRun | null }
  | {
      status: 'completed' | 'failed';
      id: number;
      total: number;
      counters: RunCounters;
      empty: number;
      /** Why the run failed, or how many repositories did; empty when all is well. */
      errorMessage: string;
      durationMs: number;
    };

/** How long the end of a run waits for the database, also after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;

/**
 * One run over `sources`: refused while another is active, otherwise written down from its start to its
 * end (decisions 3 and 7). A repository that fails does not stop it. Throws only where the run could not
 * be started.
 */
export async function performRun(deps: RunDeps, sources: readonly Source[]): Promise<RunReport> {
  const { db, clock, staleAfterMs } = deps;
  const began = clock.now();
  const started = await startRun(db, { totalRepos: sources.length, staleAfterMs });
  if ('active' in started) return { status: 'refused', active: started.active };

  const { id } = started;
  const lost = new AbortController();
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const journal = openJournal({ ...deps, runId: id, signal });
  const heartbeat = startHeartbeat({
    clock,
    beat: journal.beat,
    onLost: (reason, cause) => lost.abort(new RunStopped(stopMessages[reason], { cause })),
  });
  const progress: RunProgress = { requests: [], failed: new Set(), empty: 0 };
  let stop: string | null = null;
  try {
    await backUp({ ...deps, journal, signal }, id, sources, progress);
  } catch (error) {
    stop = describeStop(error, signal, deps.log);
  } finally {
    await heartbeat.stop();
  }
  const counters = journal.counters();
  const ending: RunEnding = {
    id,
    status: stop === null ? 'completed' : 'failed',
    errorMessage:
      stop ?? (counters.failed === 0 ? '' : `${countRepositories(counters.failed)} failed`),
    counters,
    failedRequests: findFailedRequests(progress.requests, sources, progress.failed),
  };
  return {
    id,
    total: sources.length,
    counters,
    empty: progress.empty,
    durationMs: clock.now() - began,
    ...(await endRun(deps, journal, ending)),
  };
}

interface RunProgress {
  requests: ClaimedRequest[];
  failed: Set<Source>;
  empty: number;
}

async function backUp(
  deps: RunDeps & { journal: Journal },
  id: number,
  sources: readonly Source[],
  progress: RunProgress,
): Promise<void> {
  const { db, journal, archiveFolder } = deps;
  await journal.note('info', `run ${id} started: ${countRepositories(sources.length)}`);
  progress.requests = await journal.persist(() => claimRequests(db, id));
  await noteRequests(journal, progress.requests, sources);
  await prepareArchiveFolder(deps);
  const git = createGit(deps.environment, deps.signal);
  for await (const { source, status } of backUpSources({ ...deps, git }, sources)) {
    if (status === 'failed') progress.failed.add(source);
    if (status === 'empty') progress.empty++;
  }
  const snapshot = await takeSnapshot(archiveFolder, sources);
  await journal.persist(() => writeSnapshot(db, id, snapshot));
}

async function prepareArchiveFolder({ archiveFolder, clock, signal }: RunDeps): Promise<void> {
  try {
    await untilAborted(makeArchiveFolder(archiveFolder), signal);
    await untilAborted(sweepScratch(archiveFolder, clock.now()), signal);
  } catch (cause) {
    signal.throwIfAborted();
    const fault = cause instanceof Error ? cause.message : String(cause);
    throw new RunStopped(cleanText(`the archive folder cannot be used: ${fault}`), { cause });
  }
}

/** Writes the end of a run down; one that cannot be written down has failed. */
async function endRun(
  { db, clock, display, log }: RunDeps,
  journal: Journal,
  ending: RunEnding,
): Promise<Pick<RunEnding, 'status' | 'errorMessage'>> {
  const { id, status, errorMessage } = ending;
  let ended: boolean;
  try {
    // Without the run's signal, which may have aborted already; and before all else that may fail.
    ended = await retryWhileUnavailable(() => finishRun(db, ending), {
      clock,
      forMs: LAST_PATIENCE_MS,
    });
  } catch (error) {
    log.error('the end of a run could not be stored', { run_id: id, error });
    display.line(`run ${id} stays open until it is taken for stale: its end could not be stored`);
    return { status: 'failed', errorMessage: errorMessage || stopMessages.unreachable };
  }
  const end: Pick<RunEnding, 'status' | 'errorMessage'> = ended
    ? { status, errorMessage }
    : { status: 'failed', errorMessage: stopMessages.taken };
  try {
    const level = end.status === 'failed' ? 'error' : 'info';
    const why = end.errorMessage && `: ${end.errorMessage}`;
    await journal.conclude(level, `run ${id} ${end.status}${why}`);
  } catch (error) {
    log.warn('the last line of a run could not be stored', { run_id: id, error });
  }
  return end;
}
