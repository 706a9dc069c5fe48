import type { Clock } from '../../clock.ts';
import { type Database, isDatabaseUnavailable } from '../../database/database.ts';
import type { RunProgress } from '../../records/recording/progress.ts';
import {
  beatRun,
  type RunCounters,
  type StartedRun,
  writeProgress,
} from '../../records/recording/runs.ts';
import { retryWhileUnavailable } from '../base/retry-database.ts';
import type { StoredEntry, Watcher } from '../base/run-entry.ts';
import { createSpool, type SpoolFile } from './spool-file.ts';
import type { SpooledEnding } from './spool-line.ts';
import { writeEntry } from './write-entry.ts';

/** How long a run waits for an unavailable database before it continues without. */
const PATIENCE_MS = 60_000;

/** Where a run is recorded: in the database or, once that has been unreachable for too long, in a spool. */
export interface RunStore {
  db: Database;
  /** The run's row; null if the database was unreachable when the run began. */
  run: StartedRun | null;
  /** The id of this machine. */
  machine: string;
  isSpooling(): boolean;
  /** Redirects everything from now on to a spool. Throws RunStopped if the spool cannot be written. */
  spool(): Promise<void>;
  /** Stores an entry; false if another worker took over the run. Throws RunStopped if it cannot be spooled. */
  write(entry: StoredEntry): Promise<boolean>;
  /** Reads from the database, possibly repeatedly, or returns what is known `without` it. */
  read<Value>(
    work: (db: Database, run: StartedRun) => Promise<Value>,
    without: () => Value | Promise<Value>,
  ): Promise<Value>;
  /** Renews the run's heartbeat, with its counters and progress; false if another worker took over the run. */
  beat(counters: RunCounters, progress: RunProgress): Promise<boolean>;
  /** Stores the run's progress. */
  show(progress: RunProgress): Promise<void>;
  /** Ends the spool. */
  end(ending: SpooledEnding): Promise<void>;
}

interface RunStoreOptions {
  db: Database;
  clock: Clock;
  /** Told when the run continues without the database. */
  watch: Watcher;
  run: StartedRun | null;
  dataFolder: string;
  /** The id of this machine, whose mirrors are used. */
  machine: string;
  /** Aborts waiting for the database. */
  signal: AbortSignal;
}

/** Opens the store of a run. It starts with a spool if the run has no row. */
export async function openRunStore(options: RunStoreOptions): Promise<RunStore> {
  const { db, clock, watch, run, dataFolder, machine, signal } = options;
  const began = clock.now();
  let spooling: Promise<SpoolFile> | null = null;
  let total: StoredEntry | null = null;

  const open = async () => {
    const file = await createSpool({ dataFolder, clock, run, began });
    const message =
      'the database is unreachable: this run is spooled in DATA_DIR and delivered later';
    const line = { type: 'log', level: 'warn', message, repository: null } as const;
    watch(line);
    await file.append(line);
    // The spool may reach a database that does not know the run.
    if (total !== null) await file.append(total);
    return file;
  };
  const spool = () => {
    spooling ??= open();
    return spooling;
  };
  /** The result of work on the database; null if the run is spooled instead. */
  const tryDatabase = async <Value>(
    work: (row: StartedRun) => Promise<Value>,
  ): Promise<{ value: Value } | null> => {
    if (run === null || spooling !== null) return null;
    const isOver = () => spooling !== null;
    try {
      const waiting = { clock, forMs: PATIENCE_MS, signal, isOver };
      return { value: await retryWhileUnavailable(() => work(run), waiting) };
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      await spool();
      return null;
    }
  };
  if (run === null) await spool();
  return {
    ...{ db, run, machine },
    isSpooling: () => spooling !== null,
    spool: async () => void (await spool()),
    async write(entry) {
      if (entry.type === 'total' && spooling === null) total = entry;
      const written = await tryDatabase(({ id }) => writeEntry(db, id, entry, machine));
      if (written !== null) return written.value;
      await (await spool()).append(entry);
      return true;
    },
    async read(work, without) {
      const found = await tryDatabase((row) => work(db, row));
      return found === null ? without() : found.value;
    },
    async beat(counters, progress) {
      if (run === null || spooling !== null) return true;
      return beatRun(db, run.id, counters, progress);
    },
    async show(progress) {
      if (run !== null) await writeProgress(db, run.id, progress);
    },
    async end(ending) {
      const file = await spool();
      await file.append(ending);
      await file.close();
    },
  };
}
