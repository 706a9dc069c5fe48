import { expect, it } from 'vitest';
import { RENEW_PROOF_DAYS } from '../../lib/records/drills/due.ts';
import { PROOF_DAYS } from '../../lib/records/drills/states.ts';
import { GRACE_IN_WORDS, graceMs } from '../../lib/records/runs/grace.ts';
import { readDocument } from '../support/documents.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// Numbers that documents repeat, and that no generator writes there.

const database = useDatabase();

it.each([
  ['docs/restore-drills.md', `one older than ${RENEW_PROOF_DAYS} days`],
  ['docs/restore-drills.md', `is proven every ${PROOF_DAYS} days`],
  [
    'docs/monitoring/alert-rules.yml',
    `backup_oldest_proof_timestamp_seconds > ${PROOF_DAYS} * 86400`,
  ],
  ['docs/monitoring/alert-rules.yml', `proven restorable more than ${PROOF_DAYS} days ago`],
  ['docs/operate.md', `plus ${GRACE_IN_WORDS} of it`],
])('%s says "%s"', (path, text) => {
  expect(readDocument(path).replaceAll(/\s+/g, ' ')).toContain(text);
});

it('the words for the grace are its number', async () => {
  const [row] = await sql<{ ms: number }>(
    database.db,
    `SELECT ${graceMs('12000000.0')}::int AS ms`,
  );
  expect([row?.ms, GRACE_IN_WORDS]).toEqual([1_000_000, 'a twelfth']);
});
