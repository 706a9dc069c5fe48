import { openAlertChannels } from '../../alerts/channels/open-channels.ts';
import {
  alertDatabaseUnreachable,
  isOngoing,
  recordDatabaseBack,
} from '../../alerts/outage/database-outage.ts';
import type { OutageMemory } from '../../alerts/outage/outage-memory.ts';
import { rememberInRedis } from '../../alerts/outage/redis-memory.ts';
import type { BackupsConfig } from '../../config/backups.ts';
import type { Deps } from '../../http/deps.ts';

/** A shorter outage is a restart or a slow wake-up, and is not reported. */
const TOLERATED_OUTAGE_MS = 5 * 60_000;

export interface OutageWatchDeps extends Deps<BackupsConfig> {
  /** Records which channels were notified of an outage. Null means Redis if configured. */
  outageMemory: OutageMemory | null;
}

/** Tracks database outages and notifies the channels. Its failures are logged and do not fail the sweep. */
export interface OutageWatch {
  /** Whether an earlier sweep, or a worker on this machine, found the database down. */
  isKnown: boolean;
  /** Notifies only the channels of ALERT_CHANNELS: those added on the page are in the database. */
  reportDown(): Promise<void>;
  /** Records the outage, if one is known, so that its channels are notified of its end. */
  reportUp(): Promise<void>;
}

/** Null if nothing outlives this process to record notifications in: every sweep would report the outage again. */
export async function watchOutage(deps: OutageWatchDeps): Promise<OutageWatch | null> {
  const { outageMemory, redis, databaseUse, clock, log, config, fetch } = deps;
  const memory = outageMemory ?? (redis === null ? null : rememberInRedis(redis));
  if (memory === null) return null;
  const outage = { memory, who: 'The server', clock, tell: (text: string) => log.warn(text) };
  const logFailure = (error: unknown) =>
    log.error('a database outage could not be tracked', { error });
  const isKnown = await memory.read().then(isOngoing, (error) => {
    logFailure(error);
    return false;
  });
  return {
    isKnown,
    async reportDown() {
      try {
        const channels = await openAlertChannels(config, { db: null, fetch, clock });
        const reason = 'it has not answered for 10 minutes';
        await alertDatabaseUnreachable(outage, channels, {
          reason,
          toleratedMs: TOLERATED_OUTAGE_MS,
        });
      } catch (error) {
        logFailure(error);
      }
    },
    async reportUp() {
      if (isKnown) await recordDatabaseBack(databaseUse.unrecorded, outage).catch(logFailure);
    },
  };
}
