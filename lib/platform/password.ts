import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/** Cost of one guess: 32 MiB and about 100 ms. Kept in each hash, so that it can be raised. */
const COST = { N: 2 ** 15, r: 8, p: 1 };
const derive = promisify<string, Buffer, number, typeof COST & { maxmem: number }, Buffer>(scrypt);

/** The shortest password that `npm run users` takes (decisions 2, AUTH_PASSWORD). */
export const PASSWORD_MIN_LENGTH = 12;

/** Hashes a password with scrypt and a random salt: `scrypt$N$r$p$salt$key`, both base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const { N, r, p } = COST;
  const key = await derive(password.normalize('NFKC'), salt, 32, { ...COST, maxmem: 256 * N * r });
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$');
}
