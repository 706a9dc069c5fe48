import { createHash } from 'node:crypto';

/** Longer names would not fit an entry of the index that finds the refs of a version by name. */
const MAX_NAME_BYTES = 1_000;
const KEPT_CHARACTERS = 200;

/**
 * The name of a ref in the ledger: the ref's own. A name of more than 1,000 bytes is cut and ends with its SHA-256, so
 * that no two names become one; the version's manifest has it in full.
 */
export function ledgerName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const kept = name.slice(0, KEPT_CHARACTERS).toWellFormed();
  return `${kept}…${createHash('sha256').update(name).digest('hex')}`;
}
