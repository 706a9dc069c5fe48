/**
 * DISCARD ALL without SET SESSION AUTHORIZATION DEFAULT, which the session is not allowed to run. Connection
 * pools send DISCARD ALL when a connection is returned.
 */
const parts = [
  'CLOSE ALL',
  'DEALLOCATE ALL',
  'RESET ALL',
  'UNLISTEN *',
  'DISCARD PLANS',
  'DISCARD TEMP',
  'DISCARD SEQUENCES',
];

export const DISCARD_ALL = { sql: parts.join('; '), tags: parts.length, tag: 'DISCARD ALL' };

/** The pattern is slow on long white space. */
const MAX_CHARS = 200;

/** Is this simple query a single DISCARD ALL? */
export function isDiscardAll(sql: string): boolean {
  return sql.length <= MAX_CHARS && /^\s*discard\s+all\s*;?\s*$/i.test(sql);
}
