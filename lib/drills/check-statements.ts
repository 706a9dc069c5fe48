import type { Database } from '../database/database.ts';
import {
  readLedgerHashes,
  readStatements,
  type StatementText,
} from '../records/drills/statements.ts';
import { readVerifier } from './signing-key.ts';
import { isSignedBy, readAnchor } from './statement.ts';

const ROWS_AT_ONCE = 200;
const LAST_ID = String(2n ** 63n - 1n);

/** What a check of the signed statements found. */
export interface StatementsCheck {
  /** How many are right: all of them, unless one is not. */
  statements: number;
  /** The first one that is not right, by its row of the ledger; null if there is none. */
  broken: { drillId: string; reason: string } | null;
}

/**
 * Checks the statements about all rows of the ledger, or about those after `after` up to `to`: each is signed with its
 * key, and the ledger still has the rows that it names.
 */
export async function checkStatements(
  db: Database,
  { after = '0', to = LAST_ID }: { after?: string; to?: string } = {},
): Promise<StatementsCheck> {
  let from = after;
  let statements = 0;
  for (;;) {
    const page = await readStatements(db, { after: from, to }, ROWS_AT_ONCE);
    const anchors = page.map(({ statement }) => readAnchor(statement));
    const hashes = await readLedgerHashes(
      db,
      anchors.flatMap((anchor) => (anchor === null ? [] : [anchor.head.id])),
    );
    for (const [index, made] of page.entries()) {
      const reason = findFault(made, anchors[index] ?? null, hashes);
      if (reason !== null) return { statements, broken: { drillId: made.drill_id, reason } };
      statements++;
    }
    from = page.at(-1)?.drill_id ?? from;
    if (page.length < ROWS_AT_ONCE) return { statements, broken: null };
  }
}

function findFault(
  made: StatementText,
  anchor: ReturnType<typeof readAnchor>,
  hashes: ReadonlyMap<string, string>,
): string | null {
  const key = readVerifier(made.key_id, made.public_key);
  if (key === null) return 'the key that signed it is not one of this installation';
  if (anchor === null || !isSignedBy(key, made)) return 'it was altered after it was signed';
  if (made.sha256 === null) return 'the row of the ledger that it is about was removed';
  const { entry, head } = anchor;
  const isSame =
    entry.id === made.drill_id &&
    entry.sha256 === made.sha256 &&
    entry.previousSha256 === made.previous_sha256;
  if (!isSame) return 'the row of the ledger that it is about was changed after it was signed';
  if (hashes.get(head.id) !== head.sha256) {
    return `row ${head.id}, which was the last one when it was signed, was changed or removed`;
  }
  return null;
}
