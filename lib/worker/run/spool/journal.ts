import pLimit from 'p-limit';
import type { Clock } from '../../../clock.ts';
import { type NewLog, writeLog } from '../../../records/recording/logs.ts';
import type { RunProgress } from '../../../records/recording/progress.ts';
import type { NewResult } from '../../../records/recording/results.ts';
import type { RunCounters } from '../../../records/recording/runs.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { retryWhileUnavailable } from '../../base/retry.ts';
import type { Source } from '../../base/source.ts';
import { RunStopped, stopMessages } from '../../base/stop.ts';
import type { RunEvents } from '../watching/run-events.ts';
import type { RunStore } from './run-store.ts';

/** How long the last line waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 2_000;

/** A result without the fields that the journal adds. */
type JournalResult = Omit<NewResult, 'runId' | 'counters' | 'position'>;

/**
 * Records a run in progress: logs (also shown to the user), results and counters. The store decides what happens
 * while the database is unreachable.
 */
export interface Journal {
  /** Logs a line about the run or one repository. */
  note(level: NewLog['level'], message: string, repository?: string): Promise<void>;
  /** Logs the run's last line: waits only briefly, but does so even if the signal has aborted. */
  conclude(level: NewLog['level'], message: string): Promise<void>;
  /** Records results in the order of the calls. Throws RunStopped if the run is no longer ours. */
  record(result: JournalResult): Promise<void>;
  /** Logs and counts a repository without changes. Throws RunStopped if the run is no longer ours. */
  skip(repository: string): Promise<void>;
  /**
   * Logs and counts a source that was never read: an error of the run, not a repository. Throws RunStopped if the run is
   * no longer ours.
   */
  unread(source: Pick<Source, 'name' | 'location'>, reason: string): Promise<void>;
  /** Renews the run's heartbeat and its progress; false if the run is no longer ours. */
  beat(progress: RunProgress): Promise<boolean>;
  counters(): RunCounters;
  /** Where everything else is recorded. */
  store: RunStore;
}

interface JournalOptions {
  store: RunStore;
  clock: Clock;
  /** Receives each line. */
  events: Pick<RunEvents, 'logged'>;
}

export function openJournal({ store, clock, events }: JournalOptions): Journal {
  const counters: RunCounters = { successful: 0, failed: 0, skipped: 0 };
  let recorded = 0;
  // One at a time: each writes the counters, and a result also its position among all results of the run.
  const inTurn = pLimit(1);
  const show = (level: NewLog['level'], text: string, repository: string | null = null) => {
    const line = { level, message: cleanText(text), repository };
    events.logged(line);
    return line;
  };

  return {
    async note(level, text, repository) {
      await store.write({ type: 'log', ...show(level, text, repository) });
    },
    async conclude(level, text) {
      const line = show(level, text);
      const { db, run } = store;
      if (run === null || store.isSpooling()) {
        await store.write({ type: 'log', ...line });
        return;
      }
      // The last line of a run whose end is already recorded is not worth a spool.
      const write = () => writeLog(db, { runId: run.id, ...line });
      await retryWhileUnavailable(write, { clock, forMs: LAST_PATIENCE_MS });
    },
    record: (result) =>
      inTurn(async () => {
        const isFailed = result.status === 'failed' || result.status === 'too_large';
        const counted = isFailed ? 'failed' : 'successful';
        const next = { ...counters, [counted]: counters[counted] + 1 };
        const entry = { ...result, counters: next, position: recorded };
        const isOurs = await store.write({ type: 'result', ...entry });
        Object.assign(counters, next);
        recorded++;
        if (!isOurs) throw new RunStopped(stopMessages.taken);
      }),
    skip: (repository) =>
      inTurn(async () => {
        const message = 'unchanged, skipped';
        const next = { ...counters, skipped: counters.skipped + 1 };
        events.logged({ level: 'info', message, repository });
        const entry = { repository, message, counters: next };
        const isOurs = await store.write({ type: 'unchanged', ...entry });
        Object.assign(counters, next);
        if (!isOurs) throw new RunStopped(stopMessages.taken);
      }),
    unread: ({ name: repository, location }, reason) =>
      inTurn(async () => {
        const source = cleanText(location);
        const { message } = show('error', `the source ${source} cannot be read: ${reason}`);
        const next = { ...counters, failed: counters.failed + 1 };
        const entry = { repository, source, reason: cleanText(reason), message, counters: next };
        const isOurs = await store.write({ type: 'unread', ...entry });
        Object.assign(counters, next);
        if (!isOurs) throw new RunStopped(stopMessages.taken);
      }),
    // Queued as well, so that it never writes older counters than those of a result.
    beat: (progress) => inTurn(() => store.beat(counters, progress)),
    counters: () => ({ ...counters }),
    store,
  };
}
