import type { Context } from 'hono';
import type { HttpEnv } from '../../http/env.ts';

/** The name recorded with a caller's changes: the user name, or `api` for the internal secret. */
export function callerName(c: Context<HttpEnv>): string {
  return c.get('user') ?? 'api';
}
