import type { BackupsConfig } from '../config/backups.ts';
import type { Deps } from '../deps.ts';
import type { Log } from '../log.ts';

/**
 * What the endpoints of the service API are mounted with. What anybody may ask for, as often as they like,
 * costs no more however many ask.
 */
export interface BackupsDeps extends Deps<BackupsConfig> {
  /** When the app was created, milliseconds since the epoch. */
  startedAt: number;
  /** One ping for all who ask while it is under way. */
  pingDatabase(): Promise<void>;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
}
