import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../page.ts';

const page: Statement = {
  name: 'drill_ledger_page',
  text: `SELECT id::text, repository_name, version::text, storage, ${iso('started_at')} AS started_at,
      duration_ms::text, bytes::text, outcome, reason, evidence::text, previous_sha256, sha256
    FROM restore_drills AS drill WHERE drill.id >= $1::bigint ORDER BY drill.id LIMIT $2::int`,
};

/** A row of the ledger, each field as the text that is hashed. */
export interface LedgerText {
  id: string;
  repository_name: string;
  version: string | null;
  storage: string;
  started_at: string;
  duration_ms: string;
  bytes: string;
  outcome: string;
  reason: string | null;
  evidence: string;
  previous_sha256: string;
  sha256: string;
}

/** The rows of the ledger from an id on, in their order. */
export function readLedger(db: Database, from: bigint, limit: number): Promise<LedgerText[]> {
  return db.query<LedgerText>(page, [String(from), limit]);
}
