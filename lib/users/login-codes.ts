import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';

/** How long a code is valid. */
export const CODE_MINUTES = 10;

/** Codes that log a user in once, without a password. They exist only in this process. */
export class LoginCodes {
  readonly #clock: Clock;
  /** Keyed by a hash of the code, so that the time of a lookup does not reveal how much of a code is right. */
  readonly #issued = new Map<string, { username: string; expiresAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(username: string): string {
    const code = randomBytes(24).toString('base64url');
    const expiresAt = this.#clock.now() + CODE_MINUTES * 60_000;
    this.#issued.set(hash(code), { username, expiresAt });
    return code;
  }

  /** Uses up a code and returns its user; null if it is unknown, used or expired. */
  redeem(code: string): string | null {
    const key = hash(code);
    const found = this.#issued.get(key);
    this.#issued.delete(key);
    return found && found.expiresAt > this.#clock.now() ? found.username : null;
  }
}

function hash(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
