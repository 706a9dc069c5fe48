import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import { type NewLog, writeLog } from '../../records/recording/logs.ts';
import type { RunProgress } from '../../records/recording/progress.ts';
import type { RunCounters } from '../../records/recording/runs.ts';
import { cleanText } from '../../text/clean-text.ts';
import { retryWhileUnavailable } from '../base/retry-database.ts';
import type { RunEntry, StoredEntry, Watcher } from '../base/run-entry.ts';
import { RunStopped, stopMessages } from '../base/stop.ts';
import type { RunStore } from './run-store.ts';

/** How long the last line waits for the database, even after Ctrl-C. */
const LAST_PATIENCE_MS = 2_000;

/**
 * Takes everything that happens in a run, in order: shows it to the watchers, counts it, and records it. The store
 * decides what happens while the database is unreachable.
 */
export interface Journal {
  /**
   * Takes an entry. Those that the run counts are recorded in the order of the calls. Throws RunStopped if the run is no
   * longer ours.
   */
  tell(entry: RunEntry): Promise<void>;
  /** Tells a log line about the run or one repository. */
  note(level: NewLog['level'], message: string, repository?: string): Promise<void>;
  /** Logs the run's last line: waits only briefly, but does so even if the signal has aborted. */
  conclude(level: NewLog['level'], message: string): Promise<void>;
  /** Renews the run's heartbeat and its progress; false if the run is no longer ours. */
  beat(progress: RunProgress): Promise<boolean>;
  counters(): RunCounters;
  /** Where the entries are recorded, and what was recorded before. */
  store: RunStore;
}

interface JournalOptions {
  store: RunStore;
  clock: Clock;
  watch: Watcher;
}

/** Opens the journal of a run that starts. */
export function openJournal({ store, clock, watch }: JournalOptions): Journal {
  const counters: RunCounters = { successful: 0, failed: 0, skipped: 0 };
  let recorded = 0;
  // One at a time: each writes the counters, and a result also its position among all results of the run.
  const inTurn = pLimit(1);
  const count = (kind: keyof RunCounters | null, describe: (next: RunCounters) => StoredEntry) =>
    inTurn(async () => {
      const next = kind === null ? counters : { ...counters, [kind]: counters[kind] + 1 };
      const entry = describe(next);
      const isOurs = await store.write(entry);
      Object.assign(counters, next);
      if (entry.type === 'result') recorded++;
      if (!isOurs) throw new RunStopped(stopMessages.taken);
    });
  const showLine = (level: NewLog['level'], text: string, repository: string | null) => {
    const line = { type: 'log', level, message: cleanText(text), repository } as const;
    watch(line);
    return line;
  };
  const tell = async (entry: RunEntry): Promise<void> => {
    switch (entry.type) {
      case 'began':
      case 'working':
      case 'resting':
      case 'ended':
      case 'counted':
      case 'closed':
        return watch(entry);
      case 'log':
        await store.write(showLine(entry.level, entry.message, entry.repository));
        return;
      case 'result': {
        const isFailed = entry.status === 'failed' || entry.status === 'too_large';
        return count(isFailed ? 'failed' : 'successful', (next) => ({
          ...entry,
          counters: next,
          position: recorded,
        }));
      }
      case 'unchanged':
        return count('skipped', (next) => {
          showLine('info', entry.message, entry.repository);
          return { ...entry, counters: next };
        });
      case 'unread':
        return count(null, (next) => {
          const { message } = showLine('error', entry.message, null);
          return { ...entry, message, counters: next };
        });
      default:
        await store.write(entry);
    }
  };

  return {
    tell,
    note: (level, message, repository) =>
      tell({ type: 'log', level, message, repository: repository ?? null }),
    async conclude(level, text) {
      const { db, run } = store;
      const line = showLine(level, text, null);
      if (run === null || store.isSpooling()) {
        await store.write(line);
        return;
      }
      // The last line of a run whose end is already recorded is not worth a spool.
      const write = () => writeLog(db, { ...line, runId: run.id });
      await retryWhileUnavailable(write, { clock, forMs: LAST_PATIENCE_MS });
    },
    // Queued as well, so that it never writes older counters than those of a result.
    beat: (progress) => inTurn(() => store.beat(counters, progress)),
    counters: () => ({ ...counters }),
    store,
  };
}
