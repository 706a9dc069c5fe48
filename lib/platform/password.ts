import { hash as digest, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
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

/** Costs that a stored hash may name: at most 128 MiB for one guess. */
const MAX_COST = { N: 2 ** 17, r: 8, p: 4 };

/**
 * Does the password belong to the hash? False for null, an unknown user, after the same work. Throws an
 * Error for a text that `hashPassword` did not write.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const { N, r, p, salt, key } = hash === null ? noOne : parseHash(hash);
  const given = await derive(password.normalize('NFKC'), salt, key.length, {
    ...{ N, r, p },
    maxmem: 256 * N * r,
  });
  return timingSafeEqual(given, key) && hash !== null;
}

/**
 * A short text that stands for one stored hash, salt included: it changes with the password and with the
 * user who has the name, and tells nothing of either.
 */
export function fingerprintHash(hash: string): string {
  return digest('sha256', hash, 'base64url').slice(0, 22);
}

const noOne = { ...COST, salt: randomBytes(16), key: randomBytes(32) };

function parseHash(hash: string): typeof noOne {
  const [, N, r, p, salt, key] =
    /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w+/=]{22,})\$([\w+/=]{22,})$/.exec(hash) ?? [];
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  if (!salt || !key || cost.N > MAX_COST.N || cost.r > MAX_COST.r || cost.p > MAX_COST.p) {
    throw new Error('a stored password hash is malformed');
  }
  return { ...cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}
