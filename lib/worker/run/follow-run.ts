import { readStopRequest } from '../../records/runs/stop-requests.ts';
import { startHeartbeat } from '../archive/lease/heartbeat.ts';
import type { Watcher } from '../base/run-entry.ts';
import { describeStoppedBy, RunStopped } from '../base/stop.ts';
import { type Journal, openJournal } from '../record/journal.ts';
import type { RunStore } from '../record/run-store.ts';
import type { RunDeps } from './run-deps.ts';
import { createProgressWriter } from './watching/progress-writer.ts';

/** Keeps the record of a run up to date. */
interface FollowedRun {
  journal: Journal;
  /** Ends the heartbeat and the writing of progress. */
  end(): Promise<void>;
}

/**
 * Keeps a run's journal, progress and heartbeat. `stop` ends the run: with `taken` if another worker took it over, or
 * with the store's error if the run can continue neither with the database nor without.
 */
export async function followRun(
  { clock, log, watch: show }: Pick<RunDeps, 'clock' | 'log' | 'watch'>,
  openStore: (watch: Watcher) => RunStore | Promise<RunStore>,
  { stop, taken }: { stop(error: unknown): void; taken: string },
): Promise<FollowedRun> {
  /** A person may stop the run from anywhere: it is asked with each heartbeat, and while there is progress each second. */
  const heed = async () => {
    if (store.run === null || store.isSpooling()) return;
    const by = await readStopRequest(store.db, store.run.id);
    if (by !== null) stop(describeStoppedBy(by));
  };
  const progress = createProgressWriter({
    clock,
    async write(at) {
      await store.show(at);
      await heed();
    },
    // The heartbeat detects a database that stays unreachable.
    onError: (error) => log.debug('the progress of a run could not be stored', { error }),
  });
  const watch: Watcher = (entry) => {
    show(entry);
    progress.watch(entry);
  };
  const store = await openStore(watch);
  const journal = openJournal({ store, clock, watch });
  const heartbeat = startHeartbeat({
    clock,
    async beat() {
      const isOurs = await journal.beat(progress.current());
      await heed();
      return isOurs;
    },
    onTaken: () => stop(new RunStopped(taken)),
    // Before another worker may take over what this one holds.
    onUnreachable: () => void store.spool().catch(stop),
  });
  const end = async () => {
    await heartbeat.stop();
    progress.watch({ type: 'closed' });
  };
  return { journal, end };
}
