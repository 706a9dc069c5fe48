import { Hono, type MiddlewareHandler } from 'hono';
import { getPath as getUrlPath } from 'hono/utils/url';
import type { HttpConfig } from '../config/http.ts';
import { AppError } from '../errors.ts';
import { requireInternalSecret } from './authentication.ts';
import { identifyClient, type ReadConnection, readSocketConnection } from './client-address.ts';
import { rejectCrossSite } from './cross-site.ts';
import type { Deps } from './deps.ts';
import type { HttpEnv } from './env.ts';
import { type DescribeError, respondToError } from './error-response.ts';
import { limitRate } from './rate-limit.ts';
import { limitBody, MAX_BODY_BYTES } from './request-body.ts';
import { assignRequestId } from './request-id.ts';
import { setSecurityHeaders } from './security-headers.ts';
import { shedLoad } from './shed-load.ts';

export interface SurfaceOptions {
  /** Where the peer's address comes from. Default: the socket, which a deployed function does not have. */
  readConnection?: ReadConnection;
  /** The shape of errors. Default: the service API's. */
  describeError?: DescribeError;
  /** The path to route by. Default: the URL's. */
  getPath?: (request: Request) => string;
  /** Whether pages of other sites may read a path. Default: they may not. */
  isForOtherSites?: (path: string) => boolean;
  /** Middleware that runs before everything else. */
  outermost?: MiddlewareHandler<HttpEnv>[];
}

/**
 * An app with what every surface needs: request id, metrics, security headers, load shedding, client address,
 * cross-site protection and error handling. Surfaces mount their own middleware after it, `protect` first.
 */
export function createSurface(
  deps: Deps<HttpConfig>,
  {
    readConnection = readSocketConnection,
    describeError,
    getPath = getUrlPath,
    isForOtherSites = () => false,
    outermost = [],
  }: SurfaceOptions = {},
): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>({ getPath: (request) => escapePatterns(getPath(request)) });
  app.onError((error, c) => respondToError(error, c, deps.log, describeError));
  app.notFound((c) => {
    const error = new AppError('NOT_FOUND', 'there is nothing here');
    return respondToError(error, c, deps.log, describeError);
  });
  app.use(
    ...outermost,
    assignRequestId,
    setSecurityHeaders,
    shedLoad(deps, describeError),
    deps.metrics.observeRequests,
    catchNonErrors,
    identifyClient(deps.config, readConnection),
    rejectCrossSite(deps.config, readConnection, isForOtherSites),
  );
  return app;
}

export interface ProtectOptions {
  /** Paths with their own access check instead of the internal secret. */
  ownAccess?: Record<string, MiddlewareHandler<HttpEnv>>;
  /** Default: 1 MiB. */
  maxBodyBytes?: number;
  /** The access check. Default: the internal secret. */
  requireAccess?: MiddlewareHandler<HttpEnv>;
  /** Requests per minute of a user with a token. */
  maxPerUser?: number;
}

/**
 * Checks the rate limit, then access, then the body's size. Mount `app.use('/api/*', ...protect(deps))` before
 * any route, so that unknown paths also return 401 without access.
 */
export function protect(
  deps: Deps<HttpConfig>,
  {
    ownAccess = {},
    maxBodyBytes = MAX_BODY_BYTES,
    requireAccess = requireInternalSecret(deps),
    maxPerUser,
  }: ProtectOptions = {},
): MiddlewareHandler<HttpEnv>[] {
  return [
    limitRate(deps, maxPerUser === undefined ? {} : { maxPerUser }),
    (c, next) => (ownAccess[c.req.path] ?? requireAccess)(c, next),
    limitBody(maxBodyBytes),
  ];
}

/**
 * Escapes `*` and `:` at the start of path segments. Hono would match them to its own patterns literally, in
 * addition to the usual match, and run their handlers twice.
 */
function escapePatterns(path: string): string {
  return path.replace(/(?<=\/)(?:\*(?=\/|$)|:)/g, (mark) => (mark === '*' ? '%2A' : '%3A'));
}

/** Wraps thrown values that are not Errors: Hono passes only Errors to its error handler. */
const catchNonErrors: MiddlewareHandler<HttpEnv> = async (_c, next) => {
  try {
    await next();
  } catch (thrown) {
    throw new Error('a handler threw a value that is not an Error', { cause: thrown });
  }
};
