import { Hono, type MiddlewareHandler } from 'hono';
import { getPath as getUrlPath } from 'hono/utils/url';
import type { HttpConfig } from '../config/http.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { requireInternalSecret } from './authentication.ts';
import { limitBody, MAX_BODY_BYTES } from './body-limit.ts';
import { identifyClient, type ReadConnection, readSocketConnection } from './client-address.ts';
import { refuseCrossSite } from './cross-site.ts';
import type { HttpEnv } from './env.ts';
import { type DescribeError, respondToError } from './error-response.ts';
import { limitRate } from './rate-limit.ts';
import { assignRequestId } from './request-id.ts';
import { setSecurityHeaders } from './security-headers.ts';
import { shedLoad } from './shed-load.ts';

export interface SurfaceOptions {
  /** Where the peer's address comes from. Default: the socket; a deployed function has none. */
  readConnection?: ReadConnection;
  /** The body of errors. Default: the service API's. */
  describeError?: DescribeError;
  /** The path that a request is routed by. Default: its URL's. */
  getPath?: (request: Request) => string;
  /** Goes before everything else. */
  outermost?: MiddlewareHandler<HttpEnv>[];
}

/**
 * An app that has what every surface needs: request id, metrics, security headers, the client's address,
 * the refusal of other sites' pages and one answer to every error. What a surface mounts comes behind it, `protect` first.
 */
export function createSurface(
  deps: Deps<HttpConfig>,
  {
    readConnection = readSocketConnection,
    describeError,
    getPath = getUrlPath,
    outermost = [],
  }: SurfaceOptions = {},
): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>({ getPath: (request) => withoutPatterns(getPath(request)) });
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
    refuseCrossSite(deps.config, readConnection),
  );
  return app;
}

export interface ProtectOptions {
  /** Paths that are limited like the others but have a check of access of their own. */
  ownAccess?: Record<string, MiddlewareHandler<HttpEnv>>;
  /** Largest request body in bytes. Default 1 MiB. */
  maxBodyBytes?: number;
  /** The check of access. Default: of the internal secret. */
  requireAccess?: MiddlewareHandler<HttpEnv>;
  /** Requests a minute of a user with a token. */
  maxPerUser?: number;
}

/**
 * Rate limit, then access, then the body's size: `app.use('/api/*', ...protect(deps))`
 * before any route, so that an unknown path is 401 without the secret.
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
 * A path whose segments are no patterns. Hono would take `*` and `:id` in a request for its own `*` and `:id`
 * beside what they fit, and run twice what is mounted there.
 */
function withoutPatterns(path: string): string {
  return path.replace(/(?<=\/)(?:\*(?=\/|$)|:)/g, (mark) => (mark === '*' ? '%2A' : '%3A'));
}

/** Hono passes only Errors to its error handler; anything else that is thrown becomes one here. */
const catchNonErrors: MiddlewareHandler<HttpEnv> = async (_c, next) => {
  try {
    await next();
  } catch (thrown) {
    throw new Error('a handler threw something that is not an Error', { cause: thrown });
  }
};
