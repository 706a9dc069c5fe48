import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import { quoteName } from './columns.ts';
import type { PageEnd } from './pages.ts';
import type { MovedTable } from './tables.ts';

/** A table that exists in the target only during an unfinished move. */
export const progressTable = 'database_move_progress';

/** How far a table was copied. */
export interface ProgressEntry {
  rows: number;
  end: PageEnd;
}

/** The progress of an unfinished move by table; null if there is none. */
export async function readMoveProgress(
  target: Database,
): Promise<ReadonlyMap<string, ProgressEntry> | null> {
  const [found] = await target.query<{ exists: boolean }>({
    text: `SELECT to_regclass('${progressTable}') IS NOT NULL AS exists`,
  });
  if (!found?.exists) return null;
  const rows = await target.query<ProgressEntry & { relation: string }>({
    text: `SELECT relation, copied_rows::int AS rows, page_end AS end FROM ${progressTable}`,
  });
  return new Map(rows.map(({ relation, rows, end }) => [relation, { rows, end }]));
}

/** Postgres's errors for a table that exists, or that another transaction is creating. */
const ALREADY_THERE: readonly unknown[] = ['42P07', '23505'];

/** Marks a move into this database as started. Throws CONFLICT if another one was first. */
export async function beginProgress(target: Database): Promise<void> {
  const createTable = `CREATE TABLE ${progressTable} (
    relation text PRIMARY KEY, copied_rows bigint NOT NULL, page_end text NOT NULL
  )`;
  await target.query({ text: createTable }).catch((error) => {
    if (!ALREADY_THERE.includes(error?.code)) throw error;
    throw new AppError('CONFLICT', 'another move into the target has just started');
  });
}

/** Marks the move as finished. */
export async function endProgress(target: Database): Promise<void> {
  await target.query({ text: `DROP TABLE ${progressTable}` });
}

/** Disabled to delete copied rows of the ledger of drills and its statements, which still exist in the source. */
const guards = [
  ['restore_drills', 'refuse_restore_drill_truncation'],
  ['drill_statements', 'refuse_drill_statement_truncation'],
] as const;

/** Deletes what an unfinished move has copied, in one statement, so that it can start over. */
export async function undoProgress(target: Database, tables: readonly MovedTable[]): Promise<void> {
  const names = tables.map(({ name }) => quoteName(name)).join(', ');
  const set = (state: string) =>
    guards.map(([table, name]) => `ALTER TABLE ${table} ${state} TRIGGER ${name};`).join(' ');
  await target.query({
    text: `DO $do$ BEGIN
      ${set('DISABLE')}
      TRUNCATE ${names};
      ${set('ENABLE ALWAYS')}
      DELETE FROM ${progressTable};
    END $do$`,
  });
}
