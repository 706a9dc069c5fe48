import type { MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { AppError } from '../errors.ts';
import { warnOccasionally } from '../log/occasional-log.ts';
import type { Deps } from './deps.ts';
import type { HttpEnv } from './env.ts';
import { type DescribeError, describeError as describeServiceError } from './error-response.ts';
import { probePaths } from './probes.ts';

/** Served under any load: monitoring, and pages that need no database. */
const exemptPaths: ReadonlySet<string> = new Set([
  ...probePaths,
  '/metrics',
  '/docs',
  '/openapi.json',
]);

/** Long enough to work off a full queue. */
const RETRY_AFTER_SECONDS = '2';
const WARN_INTERVAL_MS = 60_000;

/**
 * Rejects requests with 503 while more than MAX_WAITING_QUERIES queries wait for the database, so that the other
 * requests are served in time and memory stays bounded. Rejections are counted in `http_requests_shed_total` and
 * logged at most once a minute.
 */
export function shedLoad(
  { config, db, log, clock, metrics }: Deps<HttpConfig>,
  describeError: DescribeError = describeServiceError,
): MiddlewareHandler<HttpEnv> {
  const warn = warnOccasionally({ log, clock }, WARN_INTERVAL_MS);
  const error = new AppError('SERVICE_UNAVAILABLE', 'the server is overloaded, try again', {
    headers: { 'Retry-After': RETRY_AFTER_SECONDS },
  });
  return (c, next) => {
    const { waiting } = db.poolStats();
    if (waiting <= config.MAX_WAITING_QUERIES || exemptPaths.has(c.req.path)) return next();
    metrics.countShed();
    warn('rejecting requests: too many queries wait for the database', { waiting });
    const { status, headers, body } = describeError(error, c.get('requestId'));
    return Promise.resolve(c.json(body, status, headers));
  };
}
