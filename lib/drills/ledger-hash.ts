import { createHash } from 'node:crypto';

/**
 * The fields of a row that are hashed, in order, as the database prints them (drizzle/functions/restore-drills.sql).
 */
const hashedFields = [
  'previous_sha256',
  'id',
  'repository_name',
  'version',
  'storage',
  'started_at',
  'duration_ms',
  'bytes',
  'outcome',
  'reason',
  'evidence',
] as const;

/** A row of the ledger as text. */
export type LedgerRow = Record<(typeof hashedFields)[number], string | null> & { sha256: string };

/** What the first row has in place of the previous row's hash. */
export const NO_ROW_BEFORE = '0'.repeat(64);

/**
 * The hash that a row must have, in hexadecimal. Computed here, so that a changed database function is noticed as well.
 */
export function hashRow(row: LedgerRow): string {
  const hash = createHash('sha256');
  for (const name of hashedFields) {
    const value = row[name];
    if (value === null) hash.update(`${name}:-\n`);
    else hash.update(`${name}:${Buffer.byteLength(value)}:${value}\n`);
  }
  return hash.digest('hex');
}
