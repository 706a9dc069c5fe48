import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import { loadOnce } from '../async.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log/log.ts';
import { MAX_KEPT_COUNTS, type RateLimiter, rateLimits, WINDOW_MS } from './rate-count.ts';
import { createRedisFallback } from './redis-fallback.ts';

export interface RateLimiterDeps {
  redis: Redis | null;
  log: Log;
  clock: Clock;
}

/**
 * Counts in Redis when configured, shared by all instances; otherwise, and while Redis fails, in this
 * process. Failures are logged at most once a minute.
 */
export function createRateLimiter({ redis, log, clock }: RateLimiterDeps): RateLimiter {
  if (redis === null) return countInProcess(clock);
  // Loaded on the first request, to keep it out of cold starts.
  const loadCountInRedis = loadOnce(async () => {
    const { countInRedis } = await import('./redis-rate-limiter.ts');
    return countInRedis(redis, clock);
  });
  const inProcess = countInProcess(clock);
  const fallback = createRedisFallback(
    { log, clock },
    'Redis does not answer: rate limits are counted in this process',
  );
  return {
    count: (kind, key, limit) =>
      fallback.run(
        async () => (await loadCountInRedis()).count(kind, key, limit),
        () => inProcess.count(kind, key, limit),
      ),
  };
}

/** A window starts with the first request and lasts a minute. */
function countInProcess(clock: Clock): RateLimiter {
  const windows = new QuickLRU<string, { requests: number; resetsAt: number }>({
    maxSize: MAX_KEPT_COUNTS,
  });
  return {
    async count(kind, key, limit = rateLimits[kind]) {
      const windowKey = `${kind}:${key}`;
      let window = windows.get(windowKey);
      if (!window || clock.now() >= window.resetsAt) {
        window = { requests: 0, resetsAt: clock.now() + WINDOW_MS };
        windows.set(windowKey, window);
      }
      window.requests += 1;
      return {
        allowed: window.requests <= limit,
        limit,
        remaining: Math.max(0, limit - window.requests),
        resetsAt: window.resetsAt,
      };
    },
  };
}
