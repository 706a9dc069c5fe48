import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { type NewLog, writeLog } from '../records/recording/logs.ts';
import type { RunProgress } from '../records/recording/progress.ts';
import { type NewResult, recordResult } from '../records/recording/results.ts';
import { beatRun, type RunCounters } from '../records/recording/runs.ts';
import { recordUnchanged } from '../records/recording/unchanged.ts';
import { cleanText } from '../text/clean-text.ts';
import { retryWhileUnavailable } from './retry.ts';
import { RunStopped, stopMessages } from './stop.ts';
import type { RunEvents } from './watching/run-events.ts';

/** How long a run waits for an unavailable database. */
const PATIENCE_MS = 60_000;
/** How long the last line waits, even after Ctrl-C. */
const LAST_PATIENCE_MS = 2_000;

/** A result without the fields that the journal adds. */
export type JournalResult = Omit<NewResult, 'runId' | 'counters' | 'position'>;

/**
 * Records a run in progress: logs (also shown to the user), results and counters. Every write is retried for
 * up to a minute while the database is unavailable.
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
  /** Renews the run's heartbeat, with what it is at; false if the run is no longer ours. */
  beat(progress: RunProgress): Promise<boolean>;
  counters(): RunCounters;
  /** Retries other work on the database, which must be safe to repeat, in the same way. */
  persist<Value>(work: () => Promise<Value>): Promise<Value>;
}

export interface JournalOptions {
  db: Database;
  clock: Clock;
  /** Is shown each line. */
  events: Pick<RunEvents, 'logged'>;
  runId: number;
  /** Aborts waiting for the database. */
  signal: AbortSignal;
}

export function openJournal({ db, clock, events, runId, signal }: JournalOptions): Journal {
  const counters: RunCounters = { successful: 0, failed: 0, skipped: 0 };
  let recorded = 0;
  // One after the other: each writes the counters, and a result its position among all results of the run.
  const inTurn = pLimit(1);
  const persist = <Value>(work: () => Promise<Value>) =>
    retryWhileUnavailable(work, { clock, forMs: PATIENCE_MS, signal });

  /** Shows a line and returns a function that stores it. */
  const show = (level: NewLog['level'], text: string, repository: string | null = null) => {
    const message = cleanText(text);
    events.logged({ level, message, repository });
    return () => writeLog(db, { runId, level, message, repository });
  };

  return {
    note: (level, text, repository) => persist(show(level, text, repository)),
    conclude: (level, text) =>
      retryWhileUnavailable(show(level, text), { clock, forMs: LAST_PATIENCE_MS }),
    record: (result) =>
      inTurn(async () => {
        const isFailed = result.status === 'failed' || result.status === 'too_large';
        const counted = isFailed ? 'failed' : 'successful';
        const next = { ...counters, [counted]: counters[counted] + 1 };
        const entry = { ...result, runId, counters: next, position: recorded };
        const isOurs = await persist(() => recordResult(db, entry));
        Object.assign(counters, next);
        recorded++;
        if (!isOurs) throw new RunStopped(stopMessages.taken);
      }),
    skip: (repository) =>
      inTurn(async () => {
        const message = 'unchanged, skipped';
        const next = { ...counters, skipped: counters.skipped + 1 };
        events.logged({ level: 'info', message, repository });
        const entry = { runId, repository, message, counters: next };
        const isOurs = await persist(() => recordUnchanged(db, entry));
        Object.assign(counters, next);
        if (!isOurs) throw new RunStopped(stopMessages.taken);
      }),
    // In turn as well, so that it never writes counters that are older than those of a result.
    beat: (progress) => inTurn(() => beatRun(db, runId, counters, progress)),
    counters: () => ({ ...counters }),
    persist,
  };
}
