import { hash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import type { McpConfig } from '../config/mcp.ts';
import { AppError } from '../errors.ts';
import { hasBearerToken, unauthorized } from '../http/authentication.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { enforceRateLimit } from '../http/rate-limit.ts';

/**
 * Limits requests: with MCP_AUTH_TOKEN by the token, up to MCP_MAX_CALLS_PER_MINUTE; all others by client address.
 * Throws RATE_LIMITED above the limit.
 */
export function limitCalls({
  config,
  limiter,
  clock,
}: Pick<Deps<McpConfig>, 'config' | 'limiter' | 'clock'>): MiddlewareHandler<HttpEnv> {
  const { MCP_AUTH_TOKEN: token, MCP_MAX_CALLS_PER_MINUTE: maxCalls } = config;
  if (token === undefined) return (_c, next) => next();
  // Hashed, because counts may be stored in Redis.
  const name = hash('sha256', token, 'base64url');
  return async (c, next) => {
    const count = hasBearerToken(c, token)
      ? await limiter.count('mcpToken', name, maxCalls)
      : await limiter.count('anonymous', c.get('clientAddress'));
    await enforceRateLimit(c, next, count, clock);
  };
}

/**
 * Accepts only requests with `Authorization: Bearer <MCP_AUTH_TOKEN>`, compared in constant time; all others get
 * 401. If no token is configured, logs that once and answers 503 to every request.
 */
export function requireMcpToken({
  config: { MCP_AUTH_TOKEN: token },
  log,
}: Pick<Deps<McpConfig>, 'config' | 'log'>): MiddlewareHandler<HttpEnv> {
  if (token === undefined) {
    log.error('MCP_AUTH_TOKEN is not set: the MCP server answers 503');
    return async () => {
      throw new AppError('SERVICE_UNAVAILABLE', 'the MCP server is not configured');
    };
  }
  return async (c, next) => {
    if (!hasBearerToken(c, token)) throw unauthorized();
    await next();
  };
}
