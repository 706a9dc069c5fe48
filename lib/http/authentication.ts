import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { MIN_SECRET_LENGTH } from '../config/values.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import { secretsEqual } from '../security/crypto.ts';
import type { HttpEnv } from './env.ts';

/** The answer to a missing or wrong internal secret. */
export function unauthorized(): AppError {
  return new AppError('UNAUTHORIZED', 'a valid secret is required', {
    headers: { 'WWW-Authenticate': 'Bearer realm=backup-api' },
  });
}

/** Does the request carry this bearer token in `Authorization`? Compared in constant time. */
export function carriesBearer(c: Context, secret: string): boolean {
  const token = /^bearer +(.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return token !== undefined && secretsEqual(token, secret);
}

/**
 * Does the request carry the internal secret, in either of its two headers? When both are there, one
 * valid is enough. Never true while the secret is missing or too short.
 */
export function carriesInternalSecret(c: Context, config: HttpConfig): boolean {
  const secret = usableSecret(config);
  return secret !== null && (carriesSecretHeader(c, config) || carriesBearer(c, secret));
}

/** Does the request carry the internal secret in X-Internal-Secret? */
export function carriesSecretHeader(c: Context, config: HttpConfig): boolean {
  const secret = usableSecret(config);
  const header = c.req.header('x-internal-secret');
  return secret !== null && header !== undefined && secretsEqual(header, secret);
}

/**
 * Lets only requests with the internal secret pass while API_REQUIRE_AUTH is true; others get 401. With
 * no usable secret configured all get 503, and the log names the variable once.
 */
export function requireInternalSecret({
  config,
  log,
}: {
  config: HttpConfig;
  log: Log;
}): MiddlewareHandler<HttpEnv> {
  if (!config.API_REQUIRE_AUTH) return (_c, next) => next();
  if (usableSecret(config) === null) {
    log.error(
      `INTERNAL_SECRET is missing or has fewer than ${MIN_SECRET_LENGTH} characters: protected paths answer 503`,
    );
    return async () => {
      throw new AppError('SERVICE_UNAVAILABLE', 'the service is not configured');
    };
  }
  return async (c, next) => {
    if (!c.get('hasInternalSecret')) throw unauthorized();
    await next();
  };
}

function usableSecret({ INTERNAL_SECRET }: HttpConfig): string | null {
  return INTERNAL_SECRET !== undefined && INTERNAL_SECRET.length >= MIN_SECRET_LENGTH
    ? INTERNAL_SECRET
    : null;
}
