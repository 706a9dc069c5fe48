import type { Database } from '../../lib/database/database.ts';
import { checkLedger, type LedgerCheck } from '../../lib/drills/check-ledger.ts';
import { checkStatements, type StatementsCheck } from '../../lib/drills/check-statements.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { type Check, type CheckFinding, failed, ok, toCheck } from './report.ts';

/**
 * Recomputes all hashes of the ledger of restore drills, and checks the signed statements. All of them, because only a row's own hash reveals that it was
 * changed; with a million rows this takes a while.
 */
export async function checkDrillLedger(db: Database): Promise<Check> {
  const ledger = await checkLedger(db);
  const found = ledger.broken === null ? await checkStatements(db) : null;
  return toCheck(
    'restore_drills',
    found?.broken ? describeForged(found.broken) : describe(ledger, found),
  );
}

function describeForged({ drillId, reason }: NonNullable<StatementsCheck['broken']>): CheckFinding {
  return failed(
    `the signed statement about row ${drillId} of the ledger of restore drills is wrong: ${reason}`,
    'compare the ledger with statements that were downloaded, see docs/restore-drills.md#signed-statements',
    { effect: 'limits' },
  );
}

function describe(
  { rows, head, broken }: LedgerCheck,
  signed: StatementsCheck | null,
): CheckFinding {
  if (broken !== null) {
    const row = `row ${broken.id} (${cleanText(broken.repository, 200)})`;
    return failed(
      `the ledger of restore drills was changed: ${row}: ${broken.reason}; the ${rows} before it are intact`,
      'compare that row with a copy of the database, see docs/restore-drills.md#the-ledger',
      { effect: 'limits' },
    );
  }
  if (rows === 0) return ok('the ledger has no row yet');
  return ok(
    `the ledger is intact: rows ${rows}${signed?.statements ? `, signed statements ${signed.statements}` : ''}, last hash ${head}`,
  );
}
