import type { IdentityConfig } from '../platform/config/identity.ts';
import { secretsEqual } from '../platform/crypto.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { fingerprintHash, verifyPassword } from '../platform/password.ts';
import { findPasswordHash } from '../records/users.ts';
import { isConfiguredUser } from './authentication.ts';

/** Guesses that are worked on at once: each takes 32 MiB and a core for about 100 ms. */
const MAX_AT_ONCE = 2;
/** Guesses that may wait for their turn; a flood beyond them is refused. */
const MAX_WAITING = 64;

/** A login whose password was right. */
export interface VerifiedLogin {
  /** Stands for the stored password; null for the user of AUTH_USERNAME, who has none. */
  credential: string | null;
}

/**
 * Checks a password: null when it is wrong. Throws SERVICE_UNAVAILABLE without the database or when too
 * many wait.
 */
export type CheckPassword = (username: string, password: string) => Promise<VerifiedLogin | null>;

/**
 * The password check of the login. Every name takes one look-up and one scrypt, whether it is unknown,
 * stored or AUTH_USERNAME's, so that the time tells nothing. (spec 2, Authentication; decisions 5)
 */
export function createPasswordCheck(config: IdentityConfig, db: Database): CheckPassword {
  const takeTurn = limitAtOnce(MAX_AT_ONCE, MAX_WAITING);
  return async (username, password) => {
    const stored = await findPasswordHash(db, username);
    const isConfigured = isConfiguredUser(config, username);
    const isVerified = await takeTurn(() => verifyPassword(password, isConfigured ? null : stored));
    if (isConfigured) {
      const isRight = secretsEqual(composed(password), composed(config.AUTH_PASSWORD ?? ''));
      return isRight ? { credential: null } : null;
    }
    return isVerified && stored !== null ? { credential: fingerprintHash(stored) } : null;
  };
}

/** As `hashPassword` takes it: keyboards compose the same letter in more than one way. */
function composed(password: string): string {
  return password.normalize('NFKC');
}

function limitAtOnce(atOnce: number, waiting: number) {
  let running = 0;
  const queue: (() => void)[] = [];
  return async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (running >= atOnce) {
      if (queue.length >= waiting) {
        throw new AppError('SERVICE_UNAVAILABLE', 'too many logins at once, try again');
      }
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      // The turn goes to the next in line, without a moment in which somebody else could take it.
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
