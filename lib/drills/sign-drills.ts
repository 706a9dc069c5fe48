import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log/log.ts';
import {
  addStatements,
  type NewStatement,
  readUnsigned,
  type UnsignedDrill,
} from '../records/drills/statements.ts';
import { hashRow, NO_ROW_BEFORE } from './ledger-hash.ts';
import { openSigner, type SealingKeys, type SigningFault } from './signing-key.ts';
import { signStatement } from './statement.ts';

const ROWS_AT_ONCE = 50;

/** What signing needs. */
export interface SigningDeps {
  db: Database;
  clock: Clock;
  log: Log;
  /** CREDENTIALS_ENCRYPTION_KEY. */
  keys: SealingKeys;
}

/**
 * Signs all rows of the ledger of drills that have no statement yet, a bounded number at a time. Makes the key if there
 * is none. Several processes may do so at once. A row that was altered is logged and gets none. Returns why nothing
 * could be signed; null if it could.
 */
export async function signDrills({
  db,
  clock,
  log,
  keys,
}: SigningDeps): Promise<SigningFault | null> {
  const signer = await openSigner(db, keys);
  if (typeof signer === 'string') return signer;
  let after = '0';
  for (;;) {
    const rows = await readUnsigned(db, after, ROWS_AT_ONCE);
    const last = rows.at(-1);
    if (last === undefined) return null;
    after = last.id;
    const signedAt = new Date(clock.now()).toISOString();
    const made: NewStatement[] = [];
    for (const row of rows) {
      if (isIntact(row)) made.push(signStatement(row, signer, signedAt));
      else log.error('a restore drill is not signed: its row was altered', { drill: row.id });
    }
    // Whoever has just replaced the key signs the rest with the new one.
    if (made.length > 0 && !(await addStatements(db, signer.id, made))) return null;
  }
}

function isIntact(row: UnsignedDrill): boolean {
  return (
    row.previous_sha256 === (row.before_sha256 ?? NO_ROW_BEFORE) && hashRow(row) === row.sha256
  );
}

/** Signs what there is to sign. A failure is only logged: the next call tries again. */
export async function signInBackground(deps: SigningDeps): Promise<SigningFault | null> {
  try {
    return await signDrills(deps);
  } catch (error) {
    deps.log.error('restore drills could not be signed', { error });
    return null;
  }
}
