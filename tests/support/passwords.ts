import { scryptSync } from 'node:crypto';
import type { PasswordCost } from '../../lib/security/password.ts';

/** For tests that are not about the cost: a hundredth of today's work. */
export const QUICK_COST: PasswordCost = { N: 2 ** 10, r: 8, p: 1 };

/** A hash as an older version wrote it, which is cheaper to guess: by default with a third of today's work. */
export function olderHash(password: string, cost: { N?: number; p?: number } = {}): string {
  const { N = 2 ** 15, p = 1 } = cost;
  const salt = Buffer.alloc(16, password);
  const key = scryptSync(password, salt, 32, { N, r: 8, p, maxmem: 2 ** 27 });
  return ['scrypt', N, 8, p, salt.toString('base64'), key.toString('base64')].join('$');
}
