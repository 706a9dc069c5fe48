import { hash as digest, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** scrypt parameters: memory is 128 · `N` · `r` bytes, `p` multiplies the work. */
export interface PasswordCost {
  N: number;
  r: number;
  p: number;
}

interface ParsedHash {
  cost: PasswordCost;
  salt: Buffer;
  key: Buffer;
}

/** About 300 ms and 32 MiB, as OWASP recommends. Stored in each hash, so that it can be raised. */
export const PASSWORD_COST: PasswordCost = { N: 2 ** 15, r: 8, p: 3 };
/** The maximum cost of a stored hash: 128 MiB. */
const MAX_COST: PasswordCost = { N: 2 ** 17, r: 8, p: 4 };
const KEY_BYTES = 32;

const runScrypt = promisify<string, Buffer, number, PasswordCost & { maxmem: number }, Buffer>(
  scrypt,
);

/** Normalizes first, because keyboards compose letters differently. */
function derive(
  password: string,
  salt: Buffer,
  bytes: number,
  cost: PasswordCost,
): Promise<Buffer> {
  const maxmem = 256 * cost.N * cost.r;
  return runScrypt(password.normalize('NFKC'), salt, bytes, { ...cost, maxmem });
}

/** Hashes a password with scrypt and a random salt: `scrypt$N$r$p$salt$key`, both base64. */
export function hashPassword(password: string, cost = PASSWORD_COST): Promise<string> {
  return hashWith(password, randomBytes(16), cost);
}

async function hashWith(password: string, salt: Buffer, cost: PasswordCost): Promise<string> {
  const key = await derive(password, salt, KEY_BYTES, cost);
  const { N, r, p } = cost;
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Verifies a password against a hash, or against null for an unknown user. A wrong password always takes the
 * time of `full`, so that timing does not reveal who has an account. Throws for a malformed hash.
 */
export async function verifyPassword(
  password: string,
  hash: string | null,
  full = PASSWORD_COST,
): Promise<boolean> {
  const { cost, salt, key } = hash === null ? { ...unknownUser, cost: full } : parseHash(hash);
  const given = await derive(password, salt, key.length, cost);
  if (timingSafeEqual(given, key) && hash !== null) return true;
  // Make up for the lower cost of an older hash; scrypt runs its `p` repetitions sequentially.
  const missing = cost.N === full.N && cost.r === full.r ? full.p - cost.p : 0;
  if (missing > 0) await derive(password, salt, key.length, { ...full, p: missing });
  return false;
}

/**
 * Rehashes a verified password if its hash uses less than the full cost; otherwise returns null. Keeps the
 * salt, so that the user's tokens stay valid.
 */
export async function renewHash(
  password: string,
  hash: string,
  full = PASSWORD_COST,
): Promise<string | null> {
  const { cost, salt } = parseHash(hash);
  const isAsGood = cost.N * cost.r * cost.p >= full.N * full.r * full.p;
  return isAsGood ? null : hashWith(password, salt, full);
}

/**
 * A short identifier of a stored password, derived from its salt. It changes when the password changes or
 * the user is recreated, and reveals nothing about either.
 */
export function fingerprintHash(hash: string): string {
  return digest('sha256', parseHash(hash).salt.toString('base64'), 'base64url').slice(0, 22);
}

const unknownUser: Omit<ParsedHash, 'cost'> = {
  salt: randomBytes(16),
  key: randomBytes(KEY_BYTES),
};

function parseHash(hash: string): ParsedHash {
  const [, N, r, p, salt, key] =
    /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w+/=]{22,})\$([\w+/=]{22,})$/.exec(hash) ?? [];
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  if (!salt || !key || cost.N > MAX_COST.N || cost.r > MAX_COST.r || cost.p > MAX_COST.p) {
    throw new Error('a stored password hash is malformed');
  }
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}
