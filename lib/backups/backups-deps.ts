import type { BackupsConfig } from '../config/backups.ts';
import type { Deps } from '../deps.ts';
import type { Log } from '../log.ts';
import type { ServedArchives } from './archives/archives-deps.ts';

/**
 * The dependencies of the service API's endpoints. Public endpoints are bounded in cost, however often they
 * are called.
 */
export interface BackupsDeps extends Deps<BackupsConfig> {
  /** When the app was created, in milliseconds since the epoch. */
  startedAt: number;
  /** The archives on this machine; null where there are none, as in a deployed function. */
  archives: ServedArchives | null;
  /** Concurrent callers share one ping. */
  pingDatabase(): Promise<void>;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}
