import pLimit from 'p-limit';
import type { IdentityConfig } from '../config/identity.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { findPasswordHash, replacePasswordHash } from '../records/users.ts';
import { secretsEqual } from '../security/crypto.ts';
import { fingerprintHash, PASSWORD_COST, renewHash, verifyPassword } from '../security/password.ts';
import { isConfiguredUser } from './authentication.ts';

/** Guesses that are worked on at once: each takes 32 MiB and a core for about 300 ms. */
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
 * The password check of the login. Every name takes one look-up and the same scrypt, whether it is unknown,
 * stored or AUTH_USERNAME's, so that the time tells nothing. A stored hash that costs less than those of
 * today is replaced when its password was right.
 */
export function createPasswordCheck(
  { config, db, log }: Pick<Deps<IdentityConfig>, 'config' | 'db' | 'log'>,
  cost = PASSWORD_COST,
): CheckPassword {
  const limit = pLimit(MAX_AT_ONCE);
  const takeTurn = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (limit.pendingCount < MAX_WAITING) return limit(work);
    throw new AppError('SERVICE_UNAVAILABLE', 'too many logins at once, try again');
  };
  return async (username, password) => {
    const stored = await findPasswordHash(db, username);
    const isConfigured = isConfiguredUser(config, username);
    const isVerified = await takeTurn(() =>
      verifyPassword(password, isConfigured ? null : stored, cost),
    );
    if (isConfigured) {
      const isRight = secretsEqual(composed(password), composed(config.AUTH_PASSWORD ?? ''));
      return isRight ? { credential: null } : null;
    }
    if (!isVerified || stored === null) return null;
    await renew(username, password, stored);
    return { credential: fingerprintHash(stored) };
  };

  async function renew(username: string, password: string, stored: string): Promise<void> {
    try {
      const renewed = await takeTurn(() => renewHash(password, stored, cost));
      if (renewed !== null) await replacePasswordHash(db, username, { from: stored, to: renewed });
    } catch (error) {
      log.warn('a password could not be hashed anew; the next login tries again', { error });
    }
  }
}

/** As `hashPassword` takes it: keyboards compose the same letter in more than one way. */
function composed(password: string): string {
  return password.normalize('NFKC');
}
