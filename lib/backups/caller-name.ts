import type { Context } from 'hono';
import type { HttpEnv } from '../http/env.ts';

/** The name under which a caller's change is recorded: the user's, or `api` for the internal secret. */
export function callerName(c: Context<HttpEnv>): string {
  return c.get('user') ?? 'api';
}
