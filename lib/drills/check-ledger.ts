import type { Database } from '../database/database.ts';
import { type LedgerText, readLedger } from '../records/drills/ledger.ts';
import { hashRow, NO_ROW_BEFORE } from './ledger-hash.ts';

const ROWS_AT_ONCE = 500;

/** The range of a bigint. Ids begin with 1, but anyone who adds a row together with its hash can also choose its id. */
const [MIN_ID, MAX_ID] = [-(2n ** 63n), 2n ** 63n - 1n];

/** What a check of the ledger found. */
export interface LedgerCheck {
  /** Rows that have the right hash and follow each other: all of them, unless one is broken. */
  rows: number;
  /** The hash of the last of these rows; zeros if there is none. */
  head: string;
  /** The first row that was altered or does not follow the one before it; null if there is none. */
  broken: { id: string; repository: string; reason: string } | null;
}

/** The rows to check: those after `after`, which the first one must follow, up to the row `to`. */
export interface LedgerSpan {
  /** Null: from the first row of the ledger. */
  after: { id: string; sha256: string } | null;
  to: bigint;
}

const WHOLE: LedgerSpan = { after: null, to: MAX_ID };

/** Recomputes the hashes of all rows, or of a span, a bounded number at a time, up to the first wrong one. */
export async function checkLedger(
  db: Database,
  { after, to }: LedgerSpan = WHOLE,
): Promise<LedgerCheck> {
  let from = after === null ? MIN_ID : BigInt(after.id) + 1n;
  let head = after?.sha256 ?? NO_ROW_BEFORE;
  let rows = 0;
  for (;;) {
    const page = await readLedger(db, from, ROWS_AT_ONCE);
    for (const row of page) {
      const { id, repository_name: repository, sha256 } = row;
      if (BigInt(id) > to) return { rows, head, broken: null };
      const reason = findFault(row, head);
      if (reason !== null) return { rows, head, broken: { id, repository, reason } };
      head = sha256;
      from = BigInt(id) + 1n;
      rows++;
    }
    if (page.length < ROWS_AT_ONCE || from > MAX_ID) return { rows, head, broken: null };
  }
}

function findFault(row: LedgerText, before: string): string | null {
  if (row.previous_sha256 !== before) return 'it does not follow the row before it';
  return hashRow(row) === row.sha256 ? null : 'it was altered after it was written';
}
