import type { Context, MiddlewareHandler } from 'hono';
import { currentCaller } from '../caller.ts';
import type { IdentityConfig } from '../config/identity.ts';
import { AppError } from '../errors.ts';
import { isReading } from '../http/cross-site.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { secretsEqual } from '../security/crypto.ts';
import { fingerprintHash } from '../security/password.ts';
import { isEndedSession } from './ended-sessions.ts';
import { readSessionCookie } from './session-cookie.ts';
import { createTokens, type TokenClaims, type Tokens } from './tokens.ts';
import { findPasswordHash, isStoredAdmin, isUser } from './users.ts';

/** Identifies users by their access tokens, in `Authorization` or in the session cookie. */
export interface UserCheck {
  /** Null if JWT_SECRET is not set. */
  tokens: Tokens | null;
  /**
   * Returns the claims of the request's token; null without a valid one. Throws SERVICE_UNAVAILABLE if the database is
   * down, and FORBIDDEN for a change by cookie that does not come from our page.
   */
  identify(c: Context<HttpEnv>): Promise<TokenClaims | null>;
  /** Sets `c.get('user')` and lets every request pass, so that refused requests are rate limited too. */
  recognizeUser: MiddlewareHandler<HttpEnv>;
  /** Throws UNAUTHORIZED without a recognized user, or SERVICE_UNAVAILABLE if the token could not be checked. */
  requireUser: MiddlewareHandler<HttpEnv>;
}

/** The error for a missing or invalid token, with the challenge of RFC 6750. */
function invalidToken(hasToken: boolean): AppError {
  const challenge = 'Bearer realm="observatory"';
  return new AppError(
    'UNAUTHORIZED',
    hasToken ? 'the access token is invalid or has expired' : 'an access token is required',
    {
      headers: { 'WWW-Authenticate': hasToken ? `${challenge}, error="invalid_token"` : challenge },
    },
  );
}

/** Whether this is the user of AUTH_USERNAME, who is not in the users table. Compares in constant time. */
export function isConfiguredUser(
  { AUTH_USERNAME, AUTH_PASSWORD }: IdentityConfig,
  username: string,
): boolean {
  if (AUTH_USERNAME === undefined || AUTH_PASSWORD === undefined) return false;
  return secretsEqual(username, AUTH_USERNAME);
}

/** Whether a user may change how backups are made and what is told to whom: AUTH_USERNAME, and stored administrators. */
export async function isAdministrator(
  { config, db }: Pick<Deps<IdentityConfig>, 'config' | 'db'>,
  username: string,
): Promise<boolean> {
  return isConfiguredUser(config, username) || isStoredAdmin(db, username);
}

/** Does the rest of the request on behalf of a user. */
function workFor(username: string): void {
  const caller = currentCaller();
  if (caller !== null) Object.assign(caller, { key: `user ${username}`, isLimited: true });
}

/** Creates the check. If JWT_SECRET is not set, every check throws SERVICE_UNAVAILABLE. */
export function createUserCheck({
  config,
  db,
  clock,
}: Pick<Deps<IdentityConfig>, 'config' | 'db' | 'clock'>): UserCheck {
  const tokens =
    config.JWT_SECRET === undefined ? null : createTokens(config.JWT_SECRET, config, clock);

  async function identify(c: Context<HttpEnv>): Promise<TokenClaims | null> {
    const token = tokenOf(c);
    if (tokens === null) throw loginNotConfigured();
    const claims = token === null ? null : await tokens.read(token);
    // The token was issued here. Whether it is still valid is already looked up on behalf of the user.
    if (claims !== null) workFor(claims.username);
    if (claims === null || !(await isValid(claims))) return null;
    if (bearerOf(c) === null) {
      c.set('hasSessionCookie', true);
      if (!isReading(c)) rejectForeignChange(c);
    }
    return claims;
  }

  async function isValid(claims: TokenClaims): Promise<boolean> {
    const { username, credential, session } = claims;
    if (session !== null && (await isEndedSession(db, session.id))) return false;
    // AUTH_USERNAME takes precedence over a user of the same name in the table.
    if (isConfiguredUser(config, username)) return credential === null;
    return isStillUser(claims);
  }

  /**
   * Tokens become invalid when their user is removed or changes the password, even if the name is reused. A token
   * without a credential is checked by its age.
   */
  async function isStillUser({ username, issuedAt, credential }: TokenClaims): Promise<boolean> {
    if (credential === null) return isUser(db, username, issuedAt);
    const stored = await findPasswordHash(db, username);
    return stored !== null && secretsEqual(fingerprintHash(stored), credential);
  }
  return {
    tokens,
    identify,
    async recognizeUser(c, next) {
      try {
        const claims = await identify(c);
        if (claims !== null) {
          c.set('user', claims.username);
          c.set('browserSession', claims.session);
        }
      } catch (error) {
        c.set('userError', error);
      }
      await next();
    },
    async requireUser(c, next) {
      const fault = c.get('userError');
      if (fault !== undefined) throw fault;
      if (c.get('user') === undefined) throw invalidToken(tokenOf(c) !== null);
      await next();
    },
  };
}

/** The error for everything that needs a token while JWT_SECRET is not set. */
export function loginNotConfigured(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the service is not configured');
}

/** Whether the request carries what may be a user's token. */
export function hasToken(c: Context<HttpEnv>): boolean {
  return tokenOf(c) !== null;
}

/** The bearer token, or the token in the session cookie, which browsers also add to requests from other sites. */
function tokenOf(c: Context<HttpEnv>): string | null {
  if (c.req.header('authorization') !== undefined) return bearerOf(c);
  return c.get('isCrossSite') ? null : readSessionCookie(c);
}

function bearerOf(c: Context): string | null {
  return /^bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? null;
}

/**
 * Throws FORBIDDEN for a request with the session cookie that does not come from a page of this server: browsers add
 * the cookie to other requests too. Call it before any change, whatever the HTTP method.
 */
export function rejectForeignChange(c: Context<HttpEnv>): void {
  if (!c.get('hasSessionCookie') || c.get('isSameOrigin')) return;
  throw new AppError(
    'FORBIDDEN',
    'a change by session cookie needs `Sec-Fetch-Site: same-origin`; programs should send a bearer token',
  );
}
