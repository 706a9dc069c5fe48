import type { Database } from '../../lib/database/database.ts';
import { sql } from './records.ts';

const triggers = [
  'chain_restore_drill',
  'refuse_restore_drill_change',
  'refuse_restore_drill_truncation',
];

/** Empties the ledger of drills, as only who may change its triggers can. */
export async function emptyLedger(db: Database): Promise<void> {
  await tamper(db, 'TRUNCATE restore_drills RESTART IDENTITY');
}

/** Changes the ledger behind the back of its triggers. */
export async function tamper(db: Database, statement: string): Promise<void> {
  await sql(
    db,
    `DO $do$ BEGIN
      ALTER TABLE restore_drills DISABLE TRIGGER USER;
      ${statement};
      ${triggers.map((name) => `ALTER TABLE restore_drills ENABLE ALWAYS TRIGGER ${name};`).join(' ')}
    END $do$`,
  );
}
