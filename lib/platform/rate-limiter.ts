import { Ratelimit } from '@upstash/ratelimit';
import type { Redis } from '@upstash/redis';
import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import { warnOccasionally } from './occasional-log.ts';

const WINDOW_MS = 60_000;

/** Requests a minute and address: without the secret, and forwarded with it. (spec 1, Limits) */
export const rateLimits = { anonymous: 100, forwarded: 300 } as const;
export type RateLimitKind = keyof typeof rateLimits;

/** How an address stands after a request was counted. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When the count starts again, in milliseconds since the epoch. */
  resetsAt: number;
}

/** Counts requests in windows of one minute. Never throws and never lets everything pass. */
export interface RateLimiter {
  count(kind: RateLimitKind, address: string): Promise<RateCount>;
}

/** Most addresses that the process keeps; the least recently seen is forgotten. */
const MAX_ADDRESSES = 20_000;
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
  const inRedis = countInRedis(redis, clock);
  const inProcess = countInProcess(clock);
  const warn = warnOccasionally({ log, clock }, 60_000);
  let redisPausedUntil = Number.NEGATIVE_INFINITY;
  return {
    async count(kind, address) {
      if (clock.now() < redisPausedUntil) return inProcess.count(kind, address);
      try {
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
  // A cache takes its memory when it is made, so it is made by the first who is counted.
  let windows: LRUCache<string, { requests: number; resetsAt: number }> | null = null;
  return {
    async count(kind, address) {
      windows ??= new LRUCache({ max: MAX_ADDRESSES });
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

/**
 * Windows are the clock's minutes: the one algorithm of the library whose reset time is true. An address
 * that Redis refused is refused here until its window ends, so that a flood costs no more round trips.
 */
function countInRedis(redis: Redis, clock: Clock): RateLimiter {
  const limiterOf = (kind: RateLimitKind) =>
    new Ratelimit({
      redis,
      limiter: Ratelimit.fixedWindow(rateLimits[kind], `${WINDOW_MS} ms`),
      prefix: `backup:rate:${kind}`,
      // The library's own timeout lets the request pass, and its own cache has no bound.
      timeout: 0,
      ephemeralCache: false,
      analytics: false,
      enableTelemetry: false,
    });
  const limiters = { anonymous: limiterOf('anonymous'), forwarded: limiterOf('forwarded') };
  // As above, by the first who is refused.
  let refused: LRUCache<string, RateCount> | null = null;
  return {
    async count(kind, address) {
      const key = `${kind}:${address}`;
      const known = refused?.get(key);
      if (known && clock.now() < known.resetsAt) return known;
      const { success, limit, remaining, reset } = await limiters[kind].limit(address);
      const count = { allowed: success, limit, remaining, resetsAt: reset };
      if (!success) {
        refused ??= new LRUCache({ max: MAX_ADDRESSES });
        refused.set(key, count);
      }
      return count;
    },
  };
}
