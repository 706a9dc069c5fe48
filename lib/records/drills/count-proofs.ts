import type { Database, Statement } from '../../database/database.ts';
import { jsonObject } from '../page.ts';
import { newestResults } from '../repos.ts';
import { proofCounts } from './states.ts';

const counts: Statement = {
  name: 'proof_counts',
  text: `WITH ${newestResults}
    SELECT ${jsonObject(proofCounts('newest', '$1::timestamptz'))} AS item`,
};

/** How many tracked repositories a restore drill has proven, at a time. */
export interface ProofCounts {
  proven: number;
  overdue: number;
  never: number;
  failing: number;
  /** ISO 8601; null if none is proven. */
  oldest_at: string | null;
}

/** Counts the tracked repositories by their proofs. Waits for `timeoutMs` at most. */
export async function countProofs(
  db: Database,
  now: string,
  timeoutMs: number,
): Promise<ProofCounts> {
  const [row] = await db.query<{ item: string }>(counts, [now], { timeoutMs });
  if (!row) throw new Error(`${counts.name} returned no row`);
  return JSON.parse(row.item);
}
