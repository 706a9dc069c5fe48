import type { OutageMemory } from '../../alerts/outage/outage-memory.ts';
import type { BackupsConfig } from '../../config/backups.ts';
import type { Deps } from '../../http/deps.ts';
import type { Log } from '../../log/log.ts';
import type { SourceTrial } from '../../records/sources/trial.ts';
import type { Scheduler } from '../../schedule/scheduler.ts';
import type { ServedArchives } from './archives-deps.ts';
import type { RestoreJobs } from './restores-deps.ts';
import type { ReadFacts, ReadStatus } from './shared-facts.ts';

/** Tries an address, or a folder of this machine, and changes nothing. */
export type TrySource = (address: string, signal: AbortSignal) => Promise<SourceTrial>;

/**
 * The dependencies of the service API's endpoints. They bound the cost of public endpoints, however often those are
 * called.
 */
export interface BackupsDeps extends Deps<BackupsConfig> {
  /** When the app was created, in milliseconds since the epoch. */
  startedAt: number;
  /** The archives on this machine; null where there are none, as in a deployed function. */
  archives: ServedArchives | null;
  /** Tries what a source would be on this machine; null where nothing can be backed up, as in a deployed function. */
  trySource: TrySource | null;
  /** Restores on this machine; null where there is none to restore on, as in a deployed function. */
  restores: RestoreJobs | null;
  /** Records which channels were notified of a database outage. Null means Redis if configured. */
  outageMemory: OutageMemory | null;
  /** The scheduler of this server; null where none runs, as in a deployed function. */
  scheduler: Pick<Scheduler, 'wake'> | null;
  /** Pings the database; concurrent callers share one ping. */
  pingDatabase(): Promise<void>;
  /** Reads what a badge shows, for one repository or all; cached for 30 seconds. */
  readBadge: ReadFacts;
  /** Reads what a status page shows; cached for 30 seconds. */
  readStatus: ReadStatus;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}
