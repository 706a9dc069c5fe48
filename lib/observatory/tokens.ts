import { jwtVerify, SignJWT } from 'jose';
import { JOSEError } from 'jose/errors';
import type { Clock } from '../clock.ts';
import type { IdentityConfig } from '../config/identity.ts';

/** The claims of an access token. */
export interface TokenClaims {
  username: string;
  /** Seconds since the epoch; null in a token without this claim. */
  issuedAt: number | null;
  /** Identifies the password of the login; null in tokens of AUTH_USERNAME and of other programs. */
  credential: string | null;
}

/** Issues and reads access tokens. */
export interface Tokens {
  issue(username: string, credential: string | null): Promise<string>;
  /** Null for a token that is expired or malformed, or has another key, algorithm, issuer or audience. */
  read(token: string): Promise<TokenClaims | null>;
}

const ALGORITHM = 'HS256';
const CREDENTIAL_CLAIM = 'cred';
/** The last second of a Date. A token of another program may contain more than Postgres can store. */
const MAX_SECONDS = 8_640_000_000_000;

/** Creates tokens signed with the UTF-8 bytes of `secret`. */
export function createTokens(secret: string, config: IdentityConfig, clock: Clock): Tokens {
  const key = new TextEncoder().encode(secret);
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_EXPIRES_MINUTES } = config;
  return {
    issue(username, credential) {
      const now = Math.floor(clock.now() / 1000);
      return new SignJWT(credential === null ? {} : { [CREDENTIAL_CLAIM]: credential })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(username)
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt(now)
        .setExpirationTime(now + JWT_EXPIRES_MINUTES * 60)
        .sign(key);
    },
    async read(token) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          issuer,
          audience,
          requiredClaims: ['sub', 'exp'],
          currentDate: new Date(clock.now()),
        });
        const { sub: username, [CREDENTIAL_CLAIM]: credential, iat: issuedAt = null } = payload;
        // The library does not check that this is a string.
        if (typeof username !== 'string' || username === '' || username.includes('\0')) return null;
        if (issuedAt !== null && !(issuedAt >= 0 && issuedAt <= MAX_SECONDS)) return null;
        return {
          username,
          issuedAt,
          credential: typeof credential === 'string' ? credential : null,
        };
      } catch (error) {
        if (error instanceof JOSEError) return null;
        throw error;
      }
    },
  };
}
