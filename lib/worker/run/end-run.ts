import { type Database, isDatabaseUnavailable } from '../../database/database.ts';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { ping } from '../../records/ping.ts';
import { finishRun, type RunEnding } from '../../records/recording/runs.ts';
import { retryWhileUnavailable } from '../base/retry-database.ts';
import { stopMessages } from '../base/stop.ts';
import { deliverSpools } from '../record/deliver-spools.ts';
import type { Journal } from '../record/journal.ts';
import type { RunDeps } from './run-deps.ts';
import { nameRun } from './watching/report.ts';

/** How long the end of a run waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 5_000;

/** The signal is the process's: it has aborted after Ctrl-C. */
export type EndContext = Pick<
  RunDeps,
  'db' | 'clock' | 'display' | 'log' | 'dataFolder' | 'signal'
>;

/** How a run ended, as far as the worker knows. */
export interface Ending extends Omit<RunEnding, 'id'> {
  /** Ids of the claimed requests. */
  requests: readonly number[];
  lastLine: string;
}

/** How a run ended, and whether its end is recorded in the database, in a spool, or nowhere. */
interface RecordedEnd extends Pick<RunEnding, 'status' | 'errorMessage'> {
  /** Null if the run has no row. */
  id: number | null;
  isRecorded: boolean;
  isSpooled: boolean;
}

/** Records the end of a run. If that fails, the run failed. */
export async function endRun(
  context: EndContext,
  journal: Journal,
  ending: Ending,
): Promise<RecordedEnd> {
  const { run, isSpooling } = journal.store;
  try {
    const recorded =
      run === null || isSpooling() ? null : await endInDatabase(context, journal, run.id, ending);
    return recorded ?? (await endInSpool(context, journal, ending));
  } catch (error) {
    const { log, display } = context;
    log.error('the end of a run could not be stored', { run_id: run?.id ?? null, error });
    display.line(`the end of ${nameRun(run)} could not be stored: it will count as stale`);
    const unstored = messageOf(error);
    return {
      ...{ id: run?.id ?? null, status: 'failed', isRecorded: false, isSpooled: false },
      errorMessage: ending.errorMessage || unstored,
    };
  }
}

/** Null if the database is unreachable. */
async function endInDatabase(
  { db, clock, log }: EndContext,
  journal: Journal,
  id: number,
  { lastLine, requests: _, ...ending }: Ending,
): Promise<RecordedEnd | null> {
  let ended: boolean;
  try {
    // Without the run's signal, which may have aborted.
    ended = await retryWhileUnavailable(() => finishRun(db, { id, ...ending }), {
      clock,
      forMs: LAST_PATIENCE_MS,
    });
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return null;
  }
  const { status, errorMessage } = ended
    ? ending
    : ({ status: 'failed', errorMessage: stopMessages.taken } as const);
  await conclude(journal, log, status, ended ? lastLine : errorMessage);
  return { id, status, errorMessage, isRecorded: true, isSpooled: false };
}

/** Ends the spool, and delivers it if the database is reachable again. */
async function endInSpool(
  { db, log, display, dataFolder, signal }: EndContext,
  journal: Journal,
  { lastLine, requests, failedRequests, ...ending }: Ending,
): Promise<RecordedEnd> {
  const { store } = journal;
  const { status, errorMessage } = ending;
  await conclude(journal, log, status, lastLine);
  const failed = new Set(failedRequests);
  const metRequests = requests.filter((id) => !failed.has(id));
  await store.end({ type: 'end', stoppedBy: null, fault: null, ...ending, metRequests });
  const spooled = { status, errorMessage, id: store.run?.id ?? null };
  // After Ctrl-C, do not wait for a database that may be down.
  if (signal.aborted || !(await isReachable(db)))
    return { ...spooled, isRecorded: false, isSpooled: true };
  const { remarks, last } = await deliverSpools({ db, log }, dataFolder);
  for (const { text } of remarks) display.line(text);
  if (last === null) return { ...spooled, isRecorded: false, isSpooled: true };
  return { ...spooled, id: last.id, isRecorded: true, isSpooled: false };
}

/** Checks for at most 3 seconds: a delivery would wait longer for a database that hangs. */
async function isReachable(db: Database): Promise<boolean> {
  try {
    await ping(db);
    return true;
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return false;
  }
}

async function conclude(
  journal: Journal,
  log: Log,
  status: RunEnding['status'],
  why: string,
): Promise<void> {
  const { run } = journal.store;
  try {
    const level = status === 'failed' ? 'error' : 'info';
    await journal.conclude(level, `${nameRun(run)} ${status}${why && `: ${why}`}`);
  } catch (error) {
    log.warn('the last line of a run could not be stored', { run_id: run?.id ?? null, error });
  }
}
