import { hash as digest, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** scrypt parameters: memory is 128 · `N` · `r` bytes, `p` multiplies the work. */
interface Cost {
  N: number;
  r: number;
  p: number;
}

interface ParsedHash {
  cost: Cost;
  salt: Buffer;
  key: Buffer;
}

/** About 300 ms and 32 MiB, as OWASP recommends. Stored in each hash, so that it can be raised. */
const COST: Cost = { N: 2 ** 15, r: 8, p: 3 };
/** The maximum cost of a stored hash: 128 MiB. */
const MAX_COST: Cost = { N: 2 ** 17, r: 8, p: 4 };
const KEY_BYTES = 32;

const runScrypt = promisify<string, Buffer, number, Cost & { maxmem: number }, Buffer>(scrypt);

/** Normalizes first, because keyboards compose letters differently. */
function derive(password: string, salt: Buffer, bytes: number, cost: Cost): Promise<Buffer> {
  const maxmem = 256 * cost.N * cost.r;
  return runScrypt(password.normalize('NFKC'), salt, bytes, { ...cost, maxmem });
}

/** Hashes a password with scrypt and a random salt: `scrypt$N$r$p$salt$key`, both base64. */
export function hashPassword(password: string): Promise<string> {
  return hashWith(password, randomBytes(16));
}

async function hashWith(password: string, salt: Buffer): Promise<string> {
  const key = await derive(password, salt, KEY_BYTES, COST);
  const { N, r, p } = COST;
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Verifies a password against a hash, or against null for an unknown user. A wrong password always takes the
 * same time, so that timing does not reveal who has an account. Throws for a malformed hash.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const { cost, salt, key } = hash === null ? unknownUserHash : parseHash(hash);
  const given = await derive(password, salt, key.length, cost);
  if (timingSafeEqual(given, key) && hash !== null) return true;
  // Make up for the lower cost of an older hash; scrypt runs its `p` repetitions sequentially.
  const missing = cost.N === COST.N && cost.r === COST.r ? COST.p - cost.p : 0;
  if (missing > 0) await derive(password, salt, key.length, { ...COST, p: missing });
  return false;
}

/**
 * Rehashes a verified password if its hash uses less than the current cost; otherwise returns null. Keeps the
 * salt, so that the user's tokens stay valid.
 */
export async function renewHash(password: string, hash: string): Promise<string | null> {
  const { cost, salt } = parseHash(hash);
  const isAsGood = cost.N * cost.r * cost.p >= COST.N * COST.r * COST.p;
  return isAsGood ? null : hashWith(password, salt);
}

/**
 * A short identifier of a stored password, derived from its salt. It changes when the password changes or
 * the user is recreated, and reveals nothing about either.
 */
export function fingerprintHash(hash: string): string {
  return digest('sha256', parseHash(hash).salt.toString('base64'), 'base64url').slice(0, 22);
}

const unknownUserHash: ParsedHash = {
  cost: COST,
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
