import { Ratelimit } from '@upstash/ratelimit';
import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from './clock.ts';
import {
  KEPT_ADDRESSES,
  type RateCount,
  type RateLimiter,
  type RateLimitKind,
  rateLimits,
  WINDOW_MS,
} from './rate-count.ts';

/**
 * Windows are the clock's minutes: the one algorithm of the library whose reset time is true. An address
 * that Redis refused is refused here until its window ends, so that a flood costs no more round trips.
 */
export function countInRedis(redis: Redis, clock: Clock): RateLimiter {
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
  const refused = new QuickLRU<string, RateCount>({ maxSize: KEPT_ADDRESSES });
  return {
    async count(kind, address) {
      const key = `${kind}:${address}`;
      const known = refused.get(key);
      if (known && clock.now() < known.resetsAt) return known;
      const { success, limit, remaining, reset } = await limiters[kind].limit(address);
      const count = { allowed: success, limit, remaining, resetsAt: reset };
      if (!success) refused.set(key, count);
      return count;
    },
  };
}
