import type { Clock } from '../clock.ts';
import type { IdentityConfig } from '../config/identity.ts';

/** The login in a browser that a token belongs to. */
export interface BrowserSession {
  id: string;
  /** Seconds since the epoch. */
  expiresAt: number;
}

/** What an access token says. */
export interface TokenClaims {
  username: string;
  /** Seconds since the epoch; null in a token that does not say when it was made. */
  issuedAt: number | null;
  /** What the login was verified by; null in a token of AUTH_USERNAME, or of another maker. */
  credential: string | null;
  /** Null in a token that no log-out can end. */
  session: BrowserSession | null;
}

/** Whom a token is issued to. */
export interface TokenSubject {
  username: string;
  /** Stands for the stored password that the login was verified by; null for AUTH_USERNAME. */
  credential: string | null;
  /** Default: none. */
  sessionId?: string;
}

/** Makes and reads access tokens. */
export interface Tokens {
  issue(subject: TokenSubject): Promise<string>;
  /** Null for a token that is expired, malformed, of another key, algorithm, issuer or audience. */
  read(token: string): Promise<TokenClaims | null>;
}

const ALGORITHM = 'HS256';
const CREDENTIAL_CLAIM = 'cred';
const SESSION_CLAIM = 'sid';
/** The last second of a Date. Another maker's token may say more, and hold what Postgres cannot. */
const LATEST_SECONDS = 8_640_000_000_000;

/** Tokens signed with `secret`, its UTF-8 bytes being the key. Loads the library at the first use. */
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
        // The library promises a text, but does not look whether it is one.
        if (typeof username !== 'string' || username === '' || username.includes('\0')) return null;
        if (issuedAt !== null && !(issuedAt >= 0 && issuedAt <= LATEST_SECONDS)) return null;
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
