import type { Redis } from '@upstash/redis';
import type { Clock } from '../clock.ts';
import type { Log } from '../log/log.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import type { Database } from './database.ts';

const KEY = 'backup:database-used-at';
const NOTE_INTERVAL_MS = 60_000;
const KEEP_SECONDS = 86_400;

/** When the database was last used, so that background jobs do not wake an idle one. */
export interface DatabaseUse {
  /**
   * Time of the last recorded use in milliseconds since the epoch, at most a minute out of date; null when
   * unknown. While Redis is down only this process's own use counts: a wrong "in use" would wake the
   * database, while a wrong "idle" only delays work until the next round.
   */
  lastUse(): Promise<number | null>;
  /** The database without recording: for background jobs. */
  unrecorded: Database;
}

export interface DatabaseUseDeps {
  redis: Redis | null;
  log: Log;
  clock: Clock;
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Wraps a database to record its use, at most once a minute, in this process and in Redis when configured.
 * Queries neither wait for the recording nor fail with it.
 */
export function noteDatabaseUse(
  database: Database,
  { redis, log, clock, waitUntil }: DatabaseUseDeps,
): { db: Database; databaseUse: DatabaseUse } {
  const warn = warnOccasionally({ log, clock }, 60_000);
  let notedAt: number | null = null;

  function note(): void {
    const now = clock.now();
    if (notedAt !== null && now - notedAt < NOTE_INTERVAL_MS) return;
    notedAt = now;
    if (redis === null) return;
    const noting = redis.set(KEY, now, { ex: KEEP_SECONDS }).catch((error: unknown) => {
      warn('could not record the database use in Redis', { error });
    });
    waitUntil(noting);
  }

  async function readShared(): Promise<number | null> {
    if (redis === null) return null;
    try {
      const value = await redis.get<unknown>(KEY);
      return typeof value === 'number' ? value : null;
    } catch (error) {
      warn('could not read the database use from Redis', { error });
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
      unrecorded: database,
      async lastUse() {
        const times = [notedAt, await readShared()].filter((time) => time !== null);
        return times.length === 0 ? null : Math.max(...times);
      },
    },
  };
}
