import type { BackupsConfig } from '../platform/config/backups.ts';
import type { Deps } from '../platform/deps.ts';
import type { Log } from '../platform/log.ts';

/** The description of all surfaces as texts. Each is made at its first call: a cold start does not wait for it. */
export interface Documents {
  openApi(): Promise<string>;
  page(): Promise<{ html: string; contentSecurityPolicy: string }>;
}

/**
 * What the endpoints of the service API are mounted with. What anybody may ask for, as often as they like,
 * costs no more however many ask.
 */
export interface BackupsHandles extends Deps<BackupsConfig> {
  /** When the app was created, milliseconds since the epoch. */
  startedAt: number;
  /** One ping for all who ask while it is under way. */
  pingDatabase(): Promise<void>;
  /** Warns at most once a minute. */
  warnNotReady: Log['warn'];
  documents: Documents;
}
