import type { Redis } from '@upstash/redis';
import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Metrics } from './http/metrics.ts';
import type { Log } from './log.ts';

/**
 * Everything a surface needs from outside, built in one place and passed to its factory. Nothing is
 * optional: where a part is not configured, its absence is a value (`redis: null`).
 */
export interface Deps<Config> {
  config: Config;
  db: Database;
  redis: Redis | null;
  log: Log;
  clock: Clock;
  metrics: Metrics;
  fetch: typeof fetch;
  /** Keeps a hosted function alive until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}
