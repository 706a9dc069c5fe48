import type { Redis } from '@upstash/redis';
import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Log } from './log.ts';
import { warnOccasionally } from './occasional-log.ts';

const KEY = 'backup:database-used-at';
const NOTE_INTERVAL_MS = 60_000;
const KEEP_SECONDS = 86_400;

/** When the database was last asked something, so that a background job lets an idle one sleep. */
export interface DatabaseUse {
  /**
   * Time of the last noted use in milliseconds since the epoch, at most a minute too old; null when none
   * is known. While Redis fails, what this process did is all that is known: the rest counts as idle,
   * because a wrong "in use" would wake the database and a wrong "idle" only waits for the next round.
   */
  lastUse(): Promise<number | null>;
  /** The database itself: queries through it are not noted as use. For the background job. */
  unnoted: Database;
}

export interface DatabaseUseHandles {
  redis: Redis | null;
  log: Log;
  clock: Clock;
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Wraps a database so that its use is noted, at most once a minute, in this process and in Redis when
 * there is one. A query neither waits for the note nor fails with it. (decisions 3, Stale run)
 */
export function noteDatabaseUse(
  database: Database,
  { redis, log, clock, waitUntil }: DatabaseUseHandles,
): { db: Database; databaseUse: DatabaseUse } {
  const warn = warnOccasionally({ log, clock }, 60_000);
  let notedAt: number | null = null;

  function note(): void {
    const now = clock.now();
    if (notedAt !== null && now - notedAt < NOTE_INTERVAL_MS) return;
    notedAt = now;
    if (redis === null) return;
    const noting = redis.set(KEY, now, { ex: KEEP_SECONDS }).catch((error: unknown) => {
      warn('the use of the database could not be noted in Redis', { error });
    });
    waitUntil(noting);
  }

  async function readShared(): Promise<number | null> {
    if (redis === null) return null;
    try {
      const value = await redis.get<unknown>(KEY);
      return typeof value === 'number' ? value : null;
    } catch (error) {
      warn('the use of the database could not be read from Redis', { error });
      return null;
    }
  }

  return {
    db: {
      driver: database.driver,
      query(statement, values, options) {
        note();
        return database.query(statement, values, options);
      },
      poolStats: () => database.poolStats(),
      close: () => database.close(),
    },
    databaseUse: {
      unnoted: database,
      async lastUse() {
        const times = [notedAt, await readShared()].filter((time) => time !== null);
        return times.length === 0 ? null : Math.max(...times);
      },
    },
  };
}
