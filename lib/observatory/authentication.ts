import type { Context, MiddlewareHandler } from 'hono';
import type { IdentityConfig } from '../config/identity.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { findPasswordHash, isUser } from '../records/users.ts';
import { secretsEqual } from '../security/crypto.ts';
import { fingerprintHash } from '../security/password.ts';
import type { TokenClaims, Tokens } from './tokens.ts';

/** Identifies users by their access tokens. */
export interface UserCheck {
  /** Returns the user's name; null without a valid token. Throws SERVICE_UNAVAILABLE without the database. */
  identify(c: Context<HttpEnv>): Promise<string | null>;
  /** Sets `c.get('user')` and lets every request pass, so that refused requests are rate limited too. */
  recognizeUser: MiddlewareHandler<HttpEnv>;
  /** Throws UNAUTHORIZED without a recognized user, and SERVICE_UNAVAILABLE if that could not be checked. */
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

/** Is this the user of AUTH_USERNAME, who is not in the table of users? Compares in constant time. */
export function isConfiguredUser(
  { AUTH_USERNAME, AUTH_PASSWORD }: IdentityConfig,
  username: string,
): boolean {
  if (AUTH_USERNAME === undefined || AUTH_PASSWORD === undefined) return false;
  return secretsEqual(username, AUTH_USERNAME);
}

/** Creates the check. `tokens` is null if JWT_SECRET is not set; every check then throws SERVICE_UNAVAILABLE. */
export function createUserCheck(
  { config, db }: Pick<Deps<IdentityConfig>, 'config' | 'db'>,
  tokens: Tokens | null,
): UserCheck {
  async function identify(c: Context<HttpEnv>): Promise<string | null> {
    const token = bearerOf(c);
    if (tokens === null) throw notConfigured();
    const claims = token === null ? null : await tokens.read(token);
    if (claims === null) return null;
    const { username, credential } = claims;
    // AUTH_USERNAME takes precedence over a user of the same name in the table.
    if (isConfiguredUser(config, username)) return credential === null ? username : null;
    return (await isStillUser(claims)) ? username : null;
  }

  /**
   * Tokens become invalid when their user is removed or changes the password, also if the name is used again. A
   * token without a credential is checked by its age.
   */
  async function isStillUser({ username, issuedAt, credential }: TokenClaims): Promise<boolean> {
    if (credential === null) return isUser(db, username, issuedAt);
    const stored = await findPasswordHash(db, username);
    return stored !== null && secretsEqual(fingerprintHash(stored), credential);
  }
  return {
    identify,
    async recognizeUser(c, next) {
      try {
        const username = await identify(c);
        if (username !== null) c.set('user', username);
      } catch (error) {
        c.set('userError', error);
      }
      await next();
    },
    async requireUser(c, next) {
      const fault = c.get('userError');
      if (fault !== undefined) throw fault;
      if (c.get('user') === undefined) throw invalidToken(bearerOf(c) !== null);
      await next();
    },
  };
}

/** The error for everything that needs a token while JWT_SECRET is not set. */
export function notConfigured(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the service is not configured');
}

function bearerOf(c: Context): string | null {
  return /^bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? null;
}
