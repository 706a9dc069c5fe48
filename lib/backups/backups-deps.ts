import type { OutageMemory } from '../alerts/outage/outage-memory.ts';
import type { BackupsConfig } from '../config/backups.ts';
import type { Deps } from '../deps.ts';
import type { Log } from '../log.ts';
import type { ServedArchives } from './archives/archives-deps.ts';
import type { ReadFacts } from './badges/shared-facts.ts';

/**
 * The dependencies of the service API's endpoints. Public endpoints are bounded in cost, however often they
 * are called.
 */
export interface BackupsDeps extends Deps<BackupsConfig> {
  /** When the app was created, in milliseconds since the epoch. */
  startedAt: number;
  /** The archives on this machine; null where there are none, as in a deployed function. */
  archives: ServedArchives | null;
  /** Keeps what was told of an outage of the database. Null: Redis does, if there is one. */
  outageMemory: OutageMemory | null;
  /** Concurrent callers share one ping. */
  pingDatabase(): Promise<void>;
  /** What a badge tells, of a repository or of all; shared for half a minute. */
  readBadge: ReadFacts;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}
