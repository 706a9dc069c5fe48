import { Ratelimit } from '@upstash/ratelimit';
import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../clock.ts';
import {
  MAX_KEPT_COUNTS,
  type RateCount,
  type RateLimiter,
  type RateLimitKind,
  rateLimits,
  WINDOW_MS,
} from './rate-count.ts';

/**
 * Uses fixed windows, the library's only algorithm with a correct reset time. Caches rejections until their
 * window ends, so that a flood costs no further round trips.
 */
export function countInRedis(redis: Redis, clock: Clock): RateLimiter {
  const createLimiter = (kind: RateLimitKind, limit: number) =>
    new Ratelimit({
      redis,
      limiter: Ratelimit.fixedWindow(limit, `${WINDOW_MS} ms`),
      prefix: `backup:rate:${kind}`,
      // The library's timeout fails open, and its cache is unbounded.
      timeout: 0,
      ephemeralCache: false,
      analytics: false,
      enableTelemetry: false,
    });
  const limiters = new Map<string, Ratelimit>();
  const limiterOf = (kind: RateLimitKind, limit: number) => {
    const name = `${kind} ${limit}`;
    const limiter = limiters.get(name) ?? createLimiter(kind, limit);
    limiters.set(name, limiter);
    return limiter;
  };
  const rejected = new QuickLRU<string, RateCount>({ maxSize: MAX_KEPT_COUNTS });
  return {
    async count(kind, key, max = rateLimits[kind]) {
      const rejectedKey = `${kind}:${key}`;
      const known = rejected.get(rejectedKey);
      if (known && clock.now() < known.resetsAt) return known;
      const { success, limit, remaining, reset } = await limiterOf(kind, max).limit(key);
      const count = { allowed: success, limit, remaining, resetsAt: reset };
      if (!success) rejected.set(rejectedKey, count);
      return count;
    },
  };
}
