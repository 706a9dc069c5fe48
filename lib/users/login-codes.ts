import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';

/** How long a code is good for. */
export const CODE_MINUTES = 10;

/** Codes that log a user in once, without a password. They live in this process alone. */
export class LoginCodes {
  readonly #clock: Clock;
  /** By a hash of the code, so that a look-up takes as long for a code that is nearly right. */
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

  /** The user of a code, which is then used up; null for one that is unknown, used or expired. */
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
