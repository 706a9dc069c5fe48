import { beforeEach } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import type { TestDatabase } from './databases.ts';
import { sql } from './records.ts';

const triggers = [
  ['restore_drills', 'chain_restore_drill'],
  ['restore_drills', 'refuse_restore_drill_change'],
  ['restore_drills', 'refuse_restore_drill_truncation'],
  ['drill_statements', 'refuse_drill_statement_change'],
  ['drill_statements', 'refuse_drill_statement_truncation'],
];

/** Empties the ledger of drills with its statements and their keys, which only those who may change its triggers can do. */
export async function emptyLedger(db: Database): Promise<void> {
  await tamper(db, 'TRUNCATE restore_drills, drill_statements, signing_keys RESTART IDENTITY');
}

/** Removes the ledger and everything from earlier runs and drills before each test of a file. */
export function useEmptyLedger(database: TestDatabase): void {
  beforeEach(async () => {
    await emptyLedger(database.db);
    await sql(
      database.db,
      `TRUNCATE backup_runs, worker_repo_state, execution_logs, restore_drill_claims, archive_stores
       RESTART IDENTITY CASCADE`,
    );
  });
}

/** Changes the ledger or its statements despite the triggers. */
export async function tamper(db: Database, statement: string): Promise<void> {
  await sql(
    db,
    `DO $do$ BEGIN
      ALTER TABLE restore_drills DISABLE TRIGGER USER;
      ALTER TABLE drill_statements DISABLE TRIGGER USER;
      ${statement};
      ${triggers.map(([table, name]) => `ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${name};`).join(' ')}
    END $do$`,
  );
}

/** A drill, proven by default. */
export function someDrill(more: Partial<NewDrill> = {}): NewDrill {
  return {
    ...{ repository: 'ada/app', version: 3, storage: 'folder' },
    ...{ startedAt: '2026-05-01T10:00:00.000Z', durationMs: 1_200, bytes: 4_096 },
    ...{ outcome: 'proven', reason: null },
    evidence: {
      ...{ version: '0.1.0', git_version: '2.39.5', refs: 2 },
      ...{ refs_sha256: 'a'.repeat(64), tree_sha: 'b'.repeat(40) },
    },
    ...more,
  };
}
