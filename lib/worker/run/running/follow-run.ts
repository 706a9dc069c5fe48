import { startHeartbeat } from '../../archive/lease/heartbeat.ts';
import { RunStopped } from '../../base/stop.ts';
import type { RunDeps } from '../schedule/run-deps.ts';
import { type Journal, openJournal } from '../spool/journal.ts';
import type { RunStore } from '../spool/run-store.ts';
import { createProgressWriter } from '../watching/progress-writer.ts';
import { notifyAll, type RunEvents } from '../watching/run-events.ts';

/** Keeps the record of a run up to date. */
interface FollowedRun {
  journal: Journal;
  events: RunEvents;
  /** Ends the heartbeat and the writing of progress. */
  end(): Promise<void>;
}

/**
 * Keeps a run's journal, progress and heartbeat. `stop` ends the run: with `taken` if another worker took it over, or
 * with the store's error if the run can continue neither with the database nor without.
 */
export async function followRun(
  { clock, log, events: watchers }: Pick<RunDeps, 'clock' | 'log' | 'events'>,
  openStore: (events: RunEvents) => RunStore | Promise<RunStore>,
  { stop, taken }: { stop(error: unknown): void; taken: string },
): Promise<FollowedRun> {
  const progress = createProgressWriter({
    clock,
    write: (at) => store.show(at),
    // The heartbeat detects a database that stays unreachable.
    onError: (error) => log.debug('the progress of a run could not be stored', { error }),
  });
  const events = notifyAll([watchers, progress]);
  const store = await openStore(events);
  const journal = openJournal({ store, clock, events });
  const heartbeat = startHeartbeat({
    clock,
    beat: () => journal.beat(progress.current()),
    onTaken: () => stop(new RunStopped(taken)),
    // Before another worker may take over what this one holds.
    onUnreachable: () => void store.spool().catch(stop),
  });
  const end = async () => {
    await heartbeat.stop();
    progress.closed();
  };
  return { journal, events, end };
}
