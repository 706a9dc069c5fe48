import type { Clock } from '../clock.ts';
import type { IdentityConfig } from '../config/identity.ts';

/** A login in a browser, ended by logging out. */
export interface BrowserSession {
  id: string;
  /** Seconds since the epoch. */
  expiresAt: number;
}

/** The claims of an access token. */
export interface TokenClaims {
  username: string;
  /** Seconds since the epoch; null in a token without this claim. */
  issuedAt: number | null;
  /** Identifies the password of the login; null in tokens of AUTH_USERNAME and of other programs. */
  credential: string | null;
  /** Null in a token that logging out cannot invalidate. */
  session: BrowserSession | null;
}

/** The user that a token is issued to. */
export interface TokenSubject {
  username: string;
  /** Fingerprint of the stored password that verified the login; null for AUTH_USERNAME. */
  credential: string | null;
  /** Default: none. */
  sessionId?: string;
}

/** Issues and reads access tokens. */
export interface Tokens {
  issue(subject: TokenSubject): Promise<string>;
  /** Null for a token that is expired or malformed, or has another key, algorithm, issuer or audience. */
  read(token: string): Promise<TokenClaims | null>;
}

const ALGORITHM = 'HS256';
const CREDENTIAL_CLAIM = 'cred';
const SESSION_CLAIM = 'sid';
/** The last second that a Date can hold. A token of another program may contain more than Postgres can store. */
const MAX_SECONDS = 8_640_000_000_000;

/** Creates tokens signed with the UTF-8 bytes of `secret`. Loads the library on first use. */
export function createTokens(secret: string, config: IdentityConfig, clock: Clock): Tokens {
  const key = new TextEncoder().encode(secret);
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_EXPIRES_MINUTES } = config;
  return {
    async issue({ username, credential, sessionId }) {
      const { SignJWT } = await import('jose');
      const now = Math.floor(clock.now() / 1000);
      return new SignJWT({
        ...(credential === null ? {} : { [CREDENTIAL_CLAIM]: credential }),
        ...(sessionId === undefined ? {} : { [SESSION_CLAIM]: sessionId }),
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(username)
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt(now)
        .setExpirationTime(now + JWT_EXPIRES_MINUTES * 60)
        .sign(key);
    },
    async read(token) {
      const { errors, jwtVerify } = await import('jose');
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          issuer,
          audience,
          requiredClaims: ['sub', 'exp'],
          currentDate: new Date(clock.now()),
        });
        const { sub: username, iat: issuedAt = null, exp: expiresAt = 0 } = payload;
        const { [CREDENTIAL_CLAIM]: credential, [SESSION_CLAIM]: sessionId } = payload;
        // The library does not check that this is a string.
        if (typeof username !== 'string' || username === '' || username.includes('\0')) return null;
        if (issuedAt !== null && !(issuedAt >= 0 && issuedAt <= MAX_SECONDS)) return null;
        if (!(expiresAt >= 0 && expiresAt <= MAX_SECONDS)) return null;
        if (typeof sessionId === 'string' && sessionId.includes('\0')) return null;
        return {
          username,
          issuedAt,
          credential: typeof credential === 'string' ? credential : null,
          session: typeof sessionId === 'string' ? { id: sessionId, expiresAt } : null,
        };
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}
