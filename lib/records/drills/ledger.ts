import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../base/page.ts';

/** SQL for the columns of a LedgerText, from a row `drill`. */
export const ledgerColumns = `drill.id::text, drill.repository_name, drill.version::text, drill.storage,
  ${iso('drill.started_at')} AS started_at, drill.duration_ms::text, drill.bytes::text, drill.outcome, drill.reason,
  drill.evidence::text, drill.previous_sha256, drill.sha256`;

const page: Statement = {
  name: 'drill_ledger_page',
  text: `SELECT ${ledgerColumns}
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

const spanOfPeriod: Statement = {
  name: 'drill_ledger_span',
  text: `SELECT before.id::text AS before_id, before.sha256 AS before_sha256,
      (SELECT coalesce(min(drill.id), span.last) FROM restore_drills AS drill WHERE drill.id > span.last)::text AS last
    FROM (
      SELECT min(drill.id) AS first, max(drill.id) AS last FROM restore_drills AS drill
      WHERE drill.started_at >= $1::timestamptz AND drill.started_at < $2::timestamptz
    ) AS span
    LEFT JOIN LATERAL (
      SELECT drill.id, drill.sha256 FROM restore_drills AS drill WHERE drill.id < span.first
      ORDER BY drill.id DESC OFFSET 1 LIMIT 1
    ) AS before ON true
    WHERE span.last IS NOT NULL`,
};

/**
 * The rows from the first drill of a period to the last, and one row on either side: a row whose time was altered to
 * fall outside the period would be there. `after` is the row before all of these. Null if the period has no drill.
 */
export async function readLedgerSpan(
  db: Database,
  { from, to }: { from: string; to: string },
): Promise<{ after: { id: string; sha256: string } | null; to: bigint } | null> {
  const [row] = await db.query<{
    last: string;
    before_id: string | null;
    before_sha256: string | null;
  }>(spanOfPeriod, [from, to]);
  if (row === undefined) return null;
  const { last, before_id: id, before_sha256: sha256 } = row;
  return { after: id === null || sha256 === null ? null : { id, sha256 }, to: BigInt(last) };
}

/** Up to `limit` rows of the ledger, in order, starting at the id `from`. */
export function readLedger(db: Database, from: bigint, limit: number): Promise<LedgerText[]> {
  return db.query<LedgerText>(page, [String(from), limit]);
}
