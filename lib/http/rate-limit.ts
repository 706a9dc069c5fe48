import type { Context, MiddlewareHandler, Next } from 'hono';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { RateCount, RateLimiter } from '../rate-limits/rate-count.ts';
import type { HttpEnv } from './env.ts';

/**
 * Limits requests per user if they have a user's token (`maxPerUser` overrides the default), per forwarded address if
 * they have the internal secret, otherwise per client address. Requests with the internal secret and no forwarded
 * address are unlimited. Cross-site requests are counted separately, so that other sites cannot use up their
 * visitors' limits.
 */
export function limitRate(
  { limiter, clock }: { limiter: RateLimiter; clock: Clock },
  { maxPerUser }: { maxPerUser?: number } = {},
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const count = await countRequest(c, limiter, maxPerUser);
    if (count === null) await next();
    else await enforceRateLimit(c, next, count, clock);
  };
}

/**
 * Continues if the count allows it and adds the RateLimit-* headers to the response. Otherwise throws
 * RATE_LIMITED with Retry-After.
 */
export async function enforceRateLimit(
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

/** Null for an unlimited request. */
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
