import pLimit from 'p-limit';
import type { IdentityConfig } from '../../config/identity.ts';
import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { secretsEqual } from '../../security/crypto.ts';
import {
  fingerprintHash,
  hashPassword,
  PASSWORD_COST,
  renewHash,
  verifyPassword,
} from '../../security/password.ts';
import { isConfiguredUser } from '../../users/user-check.ts';
import { findPasswordHash, replacePasswordHash } from '../../users/users.ts';

/** Passwords that are checked or hashed at the same time. Each takes 32 MiB, and a core for about 300 ms. */
const MAX_AT_ONCE = 2;
/** Passwords that may wait. Further ones are refused. */
const MAX_WAITING = 64;

/** A login with the right password. */
export interface VerifiedLogin {
  /** Identifies the stored password; null for the user of AUTH_USERNAME. */
  credential: string | null;
}

/**
 * Checks a password; null if it is wrong. Throws SERVICE_UNAVAILABLE without the database, or if too many
 * checks wait.
 */
export type CheckPassword = (username: string, password: string) => Promise<VerifiedLogin | null>;

/** Checks and hashes passwords, a few at a time, because that takes memory and time. */
export interface Passwords {
  check: CheckPassword;
  /** Throws SERVICE_UNAVAILABLE if too many wait. */
  hash(password: string): Promise<string>;
}

/**
 * Checking any name takes one query and one scrypt, whether it is unknown, stored or
 * AUTH_USERNAME, so that the time reveals nothing. After a login, a hash with outdated parameters is replaced.
 */
export function createPasswords(
  { config, db, log }: Pick<Deps<IdentityConfig>, 'config' | 'db' | 'log'>,
  cost = PASSWORD_COST,
): Passwords {
  const limit = pLimit(MAX_AT_ONCE);
  const runLimited = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (limit.pendingCount < MAX_WAITING) return limit(work);
    throw new AppError('SERVICE_UNAVAILABLE', 'too many logins at once: try again');
  };
  const check: CheckPassword = async (username, password) => {
    const stored = await findPasswordHash(db, username);
    const isConfigured = isConfiguredUser(config, username);
    const isVerified = await runLimited(() =>
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
  return { check, hash: (password) => runLimited(() => hashPassword(password, cost)) };

  async function renew(username: string, password: string, stored: string): Promise<void> {
    try {
      const renewed = await runLimited(() => renewHash(password, stored, cost));
      if (renewed !== null) await replacePasswordHash(db, username, { from: stored, to: renewed });
    } catch (error) {
      log.warn('a password hash could not be renewed; the next login tries again', { error });
    }
  }
}

/** Normalizes like `hashPassword`, because keyboards compose the same letter in different ways. */
function composed(password: string): string {
  return password.normalize('NFKC');
}
