import { jwtVerify, SignJWT } from 'jose';
import { JOSEError } from 'jose/errors';
import type { Clock } from '../clock.ts';
import type { IdentityConfig } from '../config/identity.ts';

/** What an access token says. */
export interface TokenClaims {
  username: string;
  /** Seconds since the epoch; null in a token that does not say when it was made. */
  issuedAt: number | null;
  /** What the login was verified by; null in a token of AUTH_USERNAME, or of another maker. */
  credential: string | null;
}

/** Makes and reads access tokens. */
export interface Tokens {
  issue(username: string, credential: string | null): Promise<string>;
  /** Null for a token that is expired, malformed, of another key, algorithm, issuer or audience. */
  read(token: string): Promise<TokenClaims | null>;
}

const ALGORITHM = 'HS256';
const CREDENTIAL_CLAIM = 'cred';
/** The last second of a Date. Another maker's token may say more, and hold what Postgres cannot. */
const LATEST_SECONDS = 8_640_000_000_000;

/** Tokens signed with `secret`, its UTF-8 bytes being the key. */
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
        // The library promises a text, but does not look whether it is one.
        if (typeof username !== 'string' || username === '' || username.includes('\0')) return null;
        if (issuedAt !== null && !(issuedAt >= 0 && issuedAt <= LATEST_SECONDS)) return null;
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
