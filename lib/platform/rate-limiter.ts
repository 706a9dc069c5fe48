import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from './clock.ts';
import { loadOnce } from './load-once.ts';
import type { Log } from './log.ts';
import { warnOccasionally } from './occasional-log.ts';
import { KEPT_ADDRESSES, type RateLimiter, rateLimits, WINDOW_MS } from './rate-count.ts';

/** For so long Redis is left alone after it failed, so that a slow one does not slow every request. */
const REDIS_PAUSE_MS = 5_000;

export interface RateLimiterHandles {
  redis: Redis | null;
  log: Log;
  clock: Clock;
}

/**
 * Counts in Redis when it is there, so that all instances count together; in the process otherwise, and
 * while Redis fails, which is logged at most once a minute. (decisions 4)
 */
export function createRateLimiter({ redis, log, clock }: RateLimiterHandles): RateLimiter {
  if (redis === null) return countInProcess(clock);
  // Loaded by the first who is counted, not by every cold start.
  const loadCountInRedis = loadOnce(async () => {
    const { countInRedis } = await import('./rate-limit-in-redis.ts');
    return countInRedis(redis, clock);
  });
  const inProcess = countInProcess(clock);
  const warn = warnOccasionally({ log, clock }, 60_000);
  let redisPausedUntil = Number.NEGATIVE_INFINITY;
  return {
    async count(kind, address) {
      if (clock.now() < redisPausedUntil) return inProcess.count(kind, address);
      try {
        const inRedis = await loadCountInRedis();
        return await inRedis.count(kind, address);
      } catch (error) {
        redisPausedUntil = clock.now() + REDIS_PAUSE_MS;
        warn('Redis does not answer: rate limits are counted in this process', { error });
        return inProcess.count(kind, address);
      }
    },
  };
}

/** A window starts with an address's first request and lasts a minute. */
function countInProcess(clock: Clock): RateLimiter {
  const windows = new QuickLRU<string, { requests: number; resetsAt: number }>({
    maxSize: KEPT_ADDRESSES,
  });
  return {
    async count(kind, address) {
      const key = `${kind}:${address}`;
      let window = windows.get(key);
      if (!window || clock.now() >= window.resetsAt) {
        window = { requests: 0, resetsAt: clock.now() + WINDOW_MS };
        windows.set(key, window);
      }
      window.requests += 1;
      const limit = rateLimits[kind];
      return {
        allowed: window.requests <= limit,
        limit,
        remaining: Math.max(0, limit - window.requests),
        resetsAt: window.resetsAt,
      };
    },
  };
}
