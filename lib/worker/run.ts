import { orAborted } from '../async.ts';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import type { Database } from '../database/database.ts';
import { GitError } from '../git/git.ts';
import type { Log } from '../log.ts';
import { sweepScratch } from '../processes/scratch.ts';
import type { RunRequest } from '../records/recording/requests.ts';
import {
  type ActiveRun,
  finishRun,
  type RunCounters,
  type RunEnding,
  startRun,
  writeTotal,
} from '../records/recording/runs.ts';
import { type NewSnapshot, writeSnapshot } from '../records/recording/snapshots.ts';
import { cleanText } from '../text/clean-text.ts';
import { makeArchiveFolder } from './archive.ts';
import { type Destination, openDestination } from './destination/open-destination.ts';
import { type PushTarget, repositoryOn } from './destination/target.ts';
import { discoverSources } from './discovery/discover.ts';
import type { Display } from './display.ts';
import { startHeartbeat } from './heartbeat.ts';
import { type HostAccess, openHostAccess } from './host-access.ts';
import { type Journal, openJournal } from './journal.ts';
import { claimFulfilled, findFailedRequests } from './requests.ts';
import { retryWhileUnavailable } from './retry.ts';
import { backUpSources } from './schedule/back-up-sources.ts';
import { isFailure, type Outcome } from './schedule/outcome.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Source } from './source.ts';
import { describeStop, RunStopped, stopMessages } from './stop.ts';
import { countRepositories } from './text.ts';

/** The dependencies of a run. */
export interface RunDeps {
  db: Database;
  clock: Clock;
  log: Log;
  display: Display;
  /** The process's environment, parts of which are passed to git. */
  environment: Environment;
  archiveFolder: string;
  /** How many repositories are backed up at once. */
  concurrency: number;
  staleAfterMs: number;
  /** The git host, for discovery and destination. */
  gitHost: Pick<HostAccess, 'config' | 'store'> & { fetch: typeof fetch };
  /** Where archives are pushed, if anywhere. */
  target: PushTarget | null;
  /** Aborts with a RunStopped error as the reason. */
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
      /** Why the run failed, how many repositories failed, or that nothing was archived; else empty. */
      errorMessage: string;
      durationMs: number;
      /** The exit code of a command that performs a single run. */
      exitCode: number;
    };

/** How long the end of a run waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;

/**
 * Backs up `given`, or the repositories found by discovery, and records the run. Refused while another run is
 * active. A failed repository does not stop it. Throws only if the run could not be started.
 */
export async function performRun(
  deps: RunDeps,
  given: readonly Source[] | null,
): Promise<RunReport> {
  const { db, clock, staleAfterMs } = deps;
  const began = clock.now();
  const started = await startRun(db, { totalRepos: given?.length ?? 0, staleAfterMs });
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
  const progress: RunProgress = { requests: [], sources: given ?? [], failed: new Set(), empty: 0 };
  let stop: { message: string; exitCode: number } | null = null;
  try {
    const stop = (error: unknown) => lost.abort(error);
    await backUp({ ...deps, journal, signal, stop }, id, given, progress);
  } catch (error) {
    const message = describeStop(error, signal, deps.log);
    stop = { message, exitCode: error instanceof RunStopped ? error.exitCode : 1 };
  } finally {
    await heartbeat.stop();
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

interface RunProgress {
  requests: RunRequest[];
  sources: readonly Source[];
  failed: Set<Source>;
  empty: number;
}

/** `stop` ends the run for a reason. */
type RunContext = RunDeps & { journal: Journal; stop(error: unknown): void };

async function backUp(
  deps: RunContext,
  id: number,
  given: readonly Source[] | null,
  progress: RunProgress,
): Promise<void> {
  const { db, journal, clock, signal } = deps;
  const what = given === null ? 'discovering repositories' : countRepositories(given.length);
  await journal.note('info', `run ${id} started: ${what}`);
  await prepareArchiveFolder(deps);
  const access = openHostAccess(
    deps.gitHost,
    { ...deps.gitHost, clock, signal },
    deps.display.line,
  );
  const sources = given ?? (await discover(deps, id, access));
  progress.sources = sources;
  const isDiscovered = given === null;
  progress.requests = await claimFulfilled({ db, journal, runId: id, sources, isDiscovered });
  const { target } = deps;
  const destination = target === null ? null : openDestination({ ...deps, access, target });
  try {
    const onEnded = (source: Source, outcome: Outcome) => {
      if (isFailure(outcome)) progress.failed.add(source);
      if (outcome.status === 'empty') progress.empty++;
    };
    await backUpSources({ ...deps, destination, onEnded }, sources);
    await storeSnapshot(deps, id, sources, destination);
  } finally {
    await destination?.close();
  }
}

async function discover(
  { db, journal, archiveFolder, target }: RunContext,
  id: number,
  access: HostAccess,
): Promise<Source[]> {
  const sources = await discoverSources({
    db,
    access,
    archiveFolder,
    destination: target === null ? null : repositoryOn(target, access.connection.hostUrl),
    note: journal.note,
  });
  await journal.persist(() => writeTotal(db, id, sources.length));
  await journal.note('info', `discovery found ${countRepositories(sources.length)}`);
  return sources;
}

async function storeSnapshot(
  { db, journal, archiveFolder, signal }: RunContext,
  id: number,
  sources: readonly Source[],
  destination: Destination | null,
): Promise<void> {
  try {
    const snapshot =
      destination === null
        ? await measureSources(archiveFolder, sources, journal)
        : await measureDestination(destination, journal);
    await journal.persist(() => writeSnapshot(db, id, snapshot));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GitError)) throw error;
    // The figures of the sources would be mistaken for those of the destination.
    await journal.note('warn', `no analytics: the destination cannot be read: ${error.message}`);
  }
}

async function measureSources(
  archiveFolder: string,
  sources: readonly Source[],
  journal: Journal,
): Promise<NewSnapshot> {
  const { snapshot, uncounted } = await takeSnapshot(archiveFolder, sources);
  if (uncounted.length > 0) {
    const [first] = uncounted;
    const others = uncounted.length === 1 ? '' : ` and ${uncounted.length - 1} more`;
    await journal.note('info', `analytics leave out what was not counted in ${first}${others}`);
  }
  return snapshot;
}

async function measureDestination(
  destination: Destination,
  journal: Journal,
): Promise<NewSnapshot> {
  const { snapshot, unknownSizes } = await destination.measure();
  if (unknownSizes > 0) {
    const files = unknownSizes === 1 ? '1 file' : `${unknownSizes} files`;
    const text = `analytics leave out ${files} of the destination whose size is unknown here`;
    await journal.note('info', text);
  }
  return snapshot;
}

async function prepareArchiveFolder({ archiveFolder, clock, signal }: RunDeps): Promise<void> {
  try {
    // Calls to a hanging file system cannot be aborted.
    await orAborted(signal, () => makeArchiveFolder(archiveFolder));
    await orAborted(signal, () => sweepScratch(archiveFolder, clock.now()));
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new RunStopped(cleanText(`the archive folder cannot be used: ${reason}`), { cause });
  }
}

/** Records the end of a run. If that fails, the run has failed. */
async function endRun(
  { db, clock, display, log }: RunDeps,
  journal: Journal,
  { lastLine, ...ending }: RunEnding & { lastLine: string },
): Promise<Pick<RunEnding, 'status' | 'errorMessage'>> {
  const { id, status, errorMessage } = ending;
  let ended: boolean;
  try {
    // Without the run's signal, which may have aborted.
    ended = await retryWhileUnavailable(() => finishRun(db, ending), {
      clock,
      forMs: LAST_PATIENCE_MS,
    });
  } catch (error) {
    log.error('the end of a run could not be stored', { run_id: id, error });
    display.line(`run ${id} stays open until it counts as stale: its end could not be stored`);
    return { status: 'failed', errorMessage: errorMessage || stopMessages.unreachable };
  }
  const end: Pick<RunEnding, 'status' | 'errorMessage'> = ended
    ? { status, errorMessage }
    : { status: 'failed', errorMessage: stopMessages.taken };
  try {
    const level = end.status === 'failed' ? 'error' : 'info';
    const why = ended ? lastLine : end.errorMessage;
    await journal.conclude(level, `run ${id} ${end.status}${why && `: ${why}`}`);
  } catch (error) {
    log.warn('the last line of a run could not be stored', { run_id: id, error });
  }
  return end;
}
