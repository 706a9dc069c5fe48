import type { Redis } from '@upstash/redis';
import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import { type DatabaseUse, noteDatabaseUse } from './database-use.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import type { Log } from './log.ts';
import type { RateLimiter } from './rate-count.ts';
import { createRateLimiter } from './rate-limiter.ts';
import type { Redactor } from './redaction.ts';

/**
 * Everything a surface needs from outside, built in one place and passed to its factory. Nothing is
 * optional: where a part is not configured, its absence is a value (`redis: null`).
 */
export interface Deps<Config> {
  config: Config;
  /** Every query through it is noted in `databaseUse`. */
  db: Database;
  databaseUse: DatabaseUse;
  redis: Redis | null;
  /** One for the process, so that its surfaces count an address together. */
  limiter: RateLimiter;
  log: Log;
  /** Knows the secrets that the process is configured with. */
  redactor: Redactor;
  clock: Clock;
  metrics: Metrics;
  fetch: typeof fetch;
  /** Keeps a hosted function alive until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

/** What differs between a server of our own, a deployed function and a test. */
export type Foundation<Config> = Pick<
  Deps<Config>,
  'config' | 'db' | 'redis' | 'log' | 'redactor' | 'clock' | 'fetch' | 'waitUntil'
>;

/** Builds the handles of one process from its configuration, its database and its Redis. */
export function buildDeps<Config>(foundation: Foundation<Config>): Deps<Config> {
  const { redis, log, clock, waitUntil } = foundation;
  const metrics = createMetrics();
  metrics.observeDatabase(foundation.db);
  return {
    ...foundation,
    ...noteDatabaseUse(foundation.db, { redis, log, clock, waitUntil }),
    limiter: createRateLimiter({ redis, log, clock }),
    metrics,
  };
}
