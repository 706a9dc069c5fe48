import type { MiddlewareHandler } from 'hono';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { RateCount, RateLimiter } from '../rate-count.ts';
import type { HttpEnv } from './env.ts';

/**
 * Limits requests by client address without the internal secret and by forwarded address with it. A
 * bearer that forwards no address is not limited. Counted answers carry the RateLimit-* headers, refused
 * ones are 429 with Retry-After. (spec 1, Limits)
 */
export function limitRate({
  limiter,
  clock,
}: {
  limiter: RateLimiter;
  clock: Clock;
}): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const forwarded = c.get('forwardedAddress');
    if (c.get('hasInternalSecret') && forwarded === null) return next();
    const count =
      forwarded === null
        ? await limiter.count('anonymous', c.get('clientAddress'))
        : await limiter.count('forwarded', forwarded);
    const headers = describeCount(count, clock.now());
    if (!count.allowed) {
      throw new AppError('RATE_LIMITED', 'too many requests, try again later', {
        headers: { ...headers, 'Retry-After': headers['RateLimit-Reset'] },
      });
    }
    await next();
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
  };
}

function describeCount({ limit, remaining, resetsAt }: RateCount, now: number) {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(Math.max(1, Math.ceil((resetsAt - now) / 1000))),
  };
}
