import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { MIN_SECRET_LENGTH } from '../config/values.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import { secretsEqual } from '../security/crypto.ts';
import type { HttpEnv } from './env.ts';

/** The error for a missing or wrong internal secret. */
export function unauthorized(): AppError {
  return new AppError('UNAUTHORIZED', 'a valid secret is required', {
    headers: { 'WWW-Authenticate': 'Bearer realm=backup-api' },
  });
}

/** Whether the `Authorization` header holds this bearer token. Compared in constant time. */
export function hasBearerToken(c: Context, secret: string): boolean {
  const token = /^bearer +(.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return token !== undefined && secretsEqual(token, secret);
}

/**
 * Whether either header (X-Internal-Secret or Authorization) holds the internal secret. Always false while
 * the configured secret is missing or too short.
 */
export function hasInternalSecret(c: Context, config: HttpConfig): boolean {
  const secret = usableSecret(config);
  return secret !== null && (hasSecretHeader(c, config) || hasBearerToken(c, secret));
}

/** Whether X-Internal-Secret holds the internal secret. */
export function hasSecretHeader(c: Context, config: HttpConfig): boolean {
  const secret = usableSecret(config);
  const header = c.req.header('x-internal-secret');
  return secret !== null && header !== undefined && secretsEqual(header, secret);
}

/**
 * Rejects requests without the internal secret with 401 while API_REQUIRE_AUTH is true. If no usable secret
 * is configured, every request gets 503 and the reason is logged once at startup.
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
      `INTERNAL_SECRET is missing or has fewer than ${MIN_SECRET_LENGTH} characters: protected paths return 503`,
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
