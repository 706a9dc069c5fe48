import type { Redis } from '@upstash/redis';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { type DatabaseUse, noteDatabaseUse } from '../database/database-use.ts';
import type { Log } from '../log/log.ts';
import type { RateLimiter } from '../rate-limits/rate-count.ts';
import { createRateLimiter } from '../rate-limits/rate-limiter.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { createMetrics, type Metrics } from './prometheus.ts';

/**
 * The dependencies of a surface, built in one place and passed to its factory. Nothing is optional: what is
 * not configured is explicitly null.
 */
export interface Deps<Config> {
  config: Config;
  /** The database; its use is recorded in `databaseUse`. */
  db: Database;
  databaseUse: DatabaseUse;
  redis: Redis | null;
  /** Shared by all surfaces of the process. */
  limiter: RateLimiter;
  log: Log;
  /** Knows the configured secrets. */
  redactor: Redactor;
  clock: Clock;
  metrics: Metrics;
  fetch: typeof fetch;
  /** Keeps a hosted function alive until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

/** What differs between the local server, a deployed function and a test. */
export type Foundation<Config> = Pick<
  Deps<Config>,
  'config' | 'db' | 'redis' | 'log' | 'redactor' | 'clock' | 'fetch' | 'waitUntil'
>;

/** Builds the dependencies of one process. */
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
