import type { Database, Statement } from '../../database/database.ts';
import { jsonObject } from '../page.ts';
import { newestResults } from '../repos.ts';
import { MAX_MOST_NEEDED, mostNeededProofs, proofCounts, proofStates } from './states.ts';

const proofs: Statement = {
  name: 'proofs',
  text: `WITH ${newestResults},
    proof_states AS MATERIALIZED (${proofStates('newest', '$1::timestamptz')})
    SELECT ${jsonObject(`
      SELECT counts.*, ${mostNeededProofs('proof_states', MAX_MOST_NEEDED)} AS most_needed
      FROM (${proofCounts('proof_states')}) AS counts`)} AS item`,
};

/** How a tracked repository stands with restore drills. */
export interface NeededProof {
  full_name: string;
  state: 'proven' | 'overdue' | 'never' | 'failing';
  /** When and from where it was last proven; null if never. ISO 8601. */
  proven_at: string | null;
  storage: string | null;
  /** When the drill failed that still counts; null unless it is failing. */
  failed_at: string | null;
}

/** How many tracked repositories a restore drill has proven, at a time, and those that need a proof most. */
export interface Proofs {
  proven: number;
  overdue: number;
  never: number;
  failing: number;
  /** ISO 8601; null if none is proven. */
  oldest_at: string | null;
  most_needed: NeededProof[];
}

/** Reads how the tracked repositories stand with restore drills. Waits for `timeoutMs` at most. */
export async function readProofs(db: Database, now: string, timeoutMs: number): Promise<Proofs> {
  const [row] = await db.query<{ item: string }>(proofs, [now], { timeoutMs });
  if (!row) throw new Error(`${proofs.name} returned no row`);
  return JSON.parse(row.item);
}
