import type { Database, Statement } from '../../database/database.ts';
import { newestResults } from '../base/newest-results.ts';
import { jsonObject } from '../base/page.ts';
import { MAX_MOST_NEEDED, mostNeededProofs, proofCounts, proofStates } from './states.ts';

const proofs: Statement = {
  name: 'proofs',
  text: `WITH ${newestResults},
    proof_states AS MATERIALIZED (${proofStates('newest', '$1::timestamptz')})
    SELECT ${jsonObject(`
      SELECT counts.*, ${mostNeededProofs('proof_states', MAX_MOST_NEEDED)} AS most_needed
      FROM (${proofCounts('proof_states')}) AS counts`)} AS item`,
};

/** A tracked repository and its proof state. */
export interface NeededProof {
  full_name: string;
  state: 'proven' | 'overdue' | 'never' | 'failing';
  /** When and from where it was last proven; null if never. ISO 8601. */
  proven_at: string | null;
  storage: string | null;
  /** When the failed drill that still counts started; null unless `state` is `failing`. */
  failed_at: string | null;
}

/** How many tracked repositories restore drills have proven as of some time, and those that need a proof most. */
export interface Proofs {
  proven: number;
  overdue: number;
  never: number;
  failing: number;
  /** ISO 8601; null if none is proven. */
  oldest_at: string | null;
  most_needed: NeededProof[];
}

/** Reads the proof states of the tracked repositories. Waits for at most `timeoutMs`. */
export async function readProofs(db: Database, now: string, timeoutMs: number): Promise<Proofs> {
  const [row] = await db.query<{ item: string }>(proofs, [now], { timeoutMs });
  if (!row) throw new Error(`${proofs.name} returned no row`);
  return JSON.parse(row.item);
}
