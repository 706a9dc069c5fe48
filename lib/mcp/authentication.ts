import type { MiddlewareHandler } from 'hono';
import { AppError } from '../platform/errors.ts';
import { carriesBearer, unauthorized } from '../platform/http/authentication.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import type { Log } from '../platform/log.ts';

/**
 * Lets only requests with `Authorization: Bearer <MCP_AUTH_TOKEN>` pass, compared in constant time; others
 * get 401. Without a token configured all get 503, and the log names the variable once. (spec 3,
 * Authentication)
 */
export function requireMcpToken({
  token,
  log,
}: {
  token: string | undefined;
  log: Log;
}): MiddlewareHandler<HttpEnv> {
  if (token === undefined) {
    log.error('MCP_AUTH_TOKEN is not set: the MCP server answers 503');
    return async () => {
      throw new AppError('SERVICE_UNAVAILABLE', 'the MCP server is not configured');
    };
  }
  return async (c, next) => {
    if (!carriesBearer(c, token)) throw unauthorized();
    await next();
  };
}
