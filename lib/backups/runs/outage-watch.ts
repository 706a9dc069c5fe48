import { openAlertChannels } from '../../alerts/channels/open-channels.ts';
import {
  alertDatabaseUnreachable,
  isOngoing,
  recordDatabaseBack,
} from '../../alerts/outage/database-outage.ts';
import type { OutageMemory } from '../../alerts/outage/outage-memory.ts';
import { rememberInRedis } from '../../alerts/outage/redis-memory.ts';
import type { BackupsConfig } from '../../config/backups.ts';
import type { Deps } from '../../deps.ts';

/** A database that is back this soon was restarted, or woke up slowly. */
const TOLERATED_OUTAGE_MS = 5 * 60_000;

export interface OutageWatchDeps extends Deps<BackupsConfig> {
  /** Keeps what was told of an outage. Null: Redis does, if there is one. */
  outageMemory: OutageMemory | null;
}

/** What the server knows and tells of a database that is away. A failure of it is logged, and fails no sweep. */
export interface OutageWatch {
  /** An earlier sweep found the database away, or a worker on this machine did. */
  isKnown: boolean;
  /** Tells the channels of ALERT_CHANNELS: those of the page are in the database. */
  databaseAway(): Promise<void>;
  /** Records the outage that was known, so that its channels hear that it is over. */
  databaseBack(): Promise<void>;
}

/** Null without a place that outlives this process: each sweep would tell the outage again. */
export async function watchOutage(deps: OutageWatchDeps): Promise<OutageWatch | null> {
  const { outageMemory, redis, databaseUse, clock, log, config, fetch } = deps;
  const memory = outageMemory ?? (redis === null ? null : rememberInRedis(redis));
  if (memory === null) return null;
  const outage = { memory, who: 'The server', clock, tell: (text: string) => log.warn(text) };
  const logFailure = (error: unknown) =>
    log.error('an outage of the database could not be followed', { error });
  const isKnown = await memory.read().then(isOngoing, (error) => {
    logFailure(error);
    return false;
  });
  return {
    isKnown,
    async databaseAway() {
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
    async databaseBack() {
      if (isKnown) await recordDatabaseBack(databaseUse.unnoted, outage).catch(logFailure);
    },
  };
}
