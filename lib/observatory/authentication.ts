import type { Context, MiddlewareHandler } from 'hono';
import type { IdentityConfig } from '../platform/config/identity.ts';
import { secretsEqual } from '../platform/crypto.ts';
import type { Deps } from '../platform/deps.ts';
import { AppError } from '../platform/errors.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { fingerprintHash } from '../platform/password.ts';
import { findPasswordHash, isUser } from '../records/users.ts';
import type { TokenClaims, Tokens } from './tokens.ts';

/** Finds out whose token a request carries. */
export interface UserCheck {
  /** The user's name; null without a valid token. Throws SERVICE_UNAVAILABLE without the database. */
  identify(c: Context<HttpEnv>): Promise<string | null>;
  /** Puts the name into `c.get('user')`; answers 401 without a valid token. */
  requireUser: MiddlewareHandler<HttpEnv>;
}

/** The 401 of spec 2, Authentication, with the challenge of RFC 6750. */
export function invalidToken(hasToken: boolean): AppError {
  const challenge = 'Bearer realm="observatory"';
  return new AppError(
    'UNAUTHORIZED',
    hasToken ? 'the access token is invalid or has expired' : 'an access token is required',
    {
      headers: { 'WWW-Authenticate': hasToken ? `${challenge}, error="invalid_token"` : challenge },
    },
  );
}

/** Is this the user of AUTH_USERNAME, who is in no table? Compared in constant time. */
export function isConfiguredUser(
  { AUTH_USERNAME, AUTH_PASSWORD }: IdentityConfig,
  username: string,
): boolean {
  if (AUTH_USERNAME === undefined || AUTH_PASSWORD === undefined) return false;
  return secretsEqual(username, AUTH_USERNAME);
}

/** Access by token: `tokens` is null while JWT_SECRET is unset, and every check then answers 503. */
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
    // The name of AUTH_USERNAME is no longer that of the user who has it in the table.
    if (isConfiguredUser(config, username)) return credential === null ? username : null;
    return (await isStillUser(claims)) ? username : null;
  }

  /**
   * A user who was removed, or has a new password, has no valid token, nor one who came back under the
   * name of another. A token that does not say what it was issued for is judged by its age.
   */
  async function isStillUser({ username, issuedAt, credential }: TokenClaims): Promise<boolean> {
    if (credential === null) return isUser(db, username, issuedAt);
    const stored = await findPasswordHash(db, username);
    return stored !== null && secretsEqual(fingerprintHash(stored), credential);
  }
  return {
    identify,
    async requireUser(c, next) {
      const username = await identify(c);
      if (username === null) throw invalidToken(bearerOf(c) !== null);
      c.set('user', username);
      await next();
    },
  };
}

/** The answer to everything that needs a token while none can be made (decisions 2). */
export function notConfigured(): AppError {
  return new AppError('SERVICE_UNAVAILABLE', 'the service is not configured');
}

function bearerOf(c: Context): string | null {
  return /^bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? null;
}
