import type { MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { warnOccasionally } from '../occasional-log.ts';
import type { HttpEnv } from './env.ts';
import { type DescribeError, describeError as describeServiceError } from './error-response.ts';

/** What tells how the process is, or needs no database: answered whatever the load. */
const alwaysAnswered: ReadonlySet<string> = new Set([
  '/health',
  '/healthz',
  '/ready',
  '/readyz',
  '/observatory/ready',
  '/metrics',
  '/docs',
  '/openapi.json',
]);

/** Long enough for a full queue to be worked off. */
const RETRY_AFTER_SECONDS = '2';
const WARN_INTERVAL_MS = 60_000;

/**
 * Refuses requests with 503 while more than MAX_WAITING_QUERIES wait for the database: what is admitted is
 * then answered in time, and the memory stays bounded. A refusal costs far less than an answer; it is
 * counted in `http_requests_shed_total` and logged at most once a minute.
 */
export function shedLoad(
  { config, db, log, clock, metrics }: Deps<HttpConfig>,
  describeError: DescribeError = describeServiceError,
): MiddlewareHandler<HttpEnv> {
  const most = config.MAX_WAITING_QUERIES;
  const warn = warnOccasionally({ log, clock }, WARN_INTERVAL_MS);
  const error = new AppError('SERVICE_UNAVAILABLE', 'too many requests are under way, try again', {
    headers: { 'Retry-After': RETRY_AFTER_SECONDS },
  });
  return (c, next) => {
    const { waiting } = db.poolStats();
    if (waiting <= most || alwaysAnswered.has(c.req.path)) return next();
    metrics.countShed();
    warn('requests are refused: too many queries wait for the database', { waiting });
    const { status, headers, body } = describeError(error, c.get('requestId'));
    return Promise.resolve(c.json(body, status, headers));
  };
}
