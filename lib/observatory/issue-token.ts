import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import type { HttpEnv } from '../http/env.ts';
import { setSessionCookie } from '../users/session-cookie.ts';
import type { TokenSubject } from '../users/tokens.ts';
import { loginNotConfigured } from '../users/user-check.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

/** Issues an access token. Throws SERVICE_UNAVAILABLE without JWT_SECRET. */
export function issueToken({ users }: ObservatoryDeps, subject: TokenSubject): Promise<string> {
  if (users.tokens === null) throw loginNotConfigured();
  return users.tokens.issue(subject);
}

/** Starts a browser session with its cookie, and returns when it expires, as ISO 8601 in UTC. */
export async function startSession(
  c: Context<HttpEnv>,
  deps: ObservatoryDeps,
  subject: TokenSubject,
): Promise<string> {
  const { clock, config } = deps;
  const token = await issueToken(deps, { ...subject, sessionId: randomUUID() });
  const seconds = config.JWT_EXPIRES_MINUTES * 60;
  setSessionCookie(c, token, seconds);
  return new Date(clock.now() + seconds * 1000).toISOString();
}
