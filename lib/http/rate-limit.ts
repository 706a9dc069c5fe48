import type { Context, MiddlewareHandler, Next } from 'hono';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { RateCount, RateLimiter } from '../rate-limits/rate-count.ts';
import type { HttpEnv } from './env.ts';

/**
 * Limits requests: by name with a user's token, of which `maxPerUser` replaces the usual number; else by
 * client address without the internal secret and by forwarded address with it. A bearer that forwards no
 * address is not limited. What a page of another site made a browser ask is counted apart, so that it takes
 * nothing from who sits in front of it.
 */
export function limitRate(
  { limiter, clock }: { limiter: RateLimiter; clock: Clock },
  { maxPerUser }: { maxPerUser?: number } = {},
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const count = await countRequest(c, limiter, maxPerUser);
    if (count === null) await next();
    else await withinCount(c, next, count, clock);
  };
}

/**
 * Lets a request pass that its count allows, with the RateLimit-* headers on its answer. Throws RATE_LIMITED
 * with Retry-After for one that it does not.
 */
export async function withinCount(
  c: Context<HttpEnv>,
  next: Next,
  count: RateCount,
  clock: Clock,
): Promise<void> {
  const headers = describeCount(count, clock.now());
  if (!count.allowed) {
    throw new AppError('RATE_LIMITED', 'too many requests, try again later', {
      headers: { ...headers, 'Retry-After': headers['RateLimit-Reset'] },
    });
  }
  await next();
  for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
}

/** Null for a request that is not limited. */
async function countRequest(
  c: Context<HttpEnv>,
  limiter: RateLimiter,
  maxPerUser: number | undefined,
): Promise<RateCount | null> {
  const user = c.get('user');
  if (user !== undefined) return limiter.count('user', user, maxPerUser);
  const forwarded = c.get('forwardedAddress');
  if (forwarded !== null) return limiter.count('forwarded', forwarded);
  if (c.get('hasInternalSecret')) return null;
  const kind = c.get('isCrossSite') ? 'crossSite' : 'anonymous';
  return limiter.count(kind, c.get('clientAddress'));
}

function describeCount({ limit, remaining, resetsAt }: RateCount, now: number) {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(Math.max(1, Math.ceil((resetsAt - now) / 1000))),
  };
}
