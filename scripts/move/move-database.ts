import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import { explainMissingVectors } from '../../lib/search/vector-storage.ts';
import { loosenColumns, matchColumns, quoteName, type TableColumns } from './columns.ts';
import { compareTable } from './compare-table.ts';
import { copyTable } from './copy-table.ts';
import { continueIds } from './id-sequences.ts';
import {
  beginProgress,
  endProgress,
  type ProgressEntry,
  readProgress,
  undoProgress,
} from './progress.ts';
import { isOfEmbeddings, type MovedTable, movedTables, summaryTables } from './tables.ts';

const STATEMENT_TIMEOUT_MS = 10 * 60_000;

/** What a person is told while a move is under way. */
export interface MoveReport {
  /** A line that stays. */
  note(line: string): void;
  /** Rows that were copied, of all that there are, and the table that is copied now. */
  copied(rows: number, total: number, table: string): void;
}

export interface DatabaseMove {
  /** Both with all migrations. Nothing may write to either meanwhile. */
  source: Database;
  target: Database;
  /** Empty what an unfinished move has left in the target, in place of going on with it. */
  startOver: boolean;
  report: MoveReport;
}

/** A table that was moved. */
export interface MovedRows {
  table: string;
  rows: number;
}

/**
 * Copies everything from one database into another that is empty, or that an unfinished move has filled
 * in part, and compares both. The source is only read. Memory stays bounded, whatever the tables hold.
 *
 * Throws CONFLICT when the target holds something else, or at the end something other than the source, or
 * the source is the target or what an unfinished move has left, and INTERNAL_ERROR or SERVICE_UNAVAILABLE
 * naming the table that a database failed at: call it again.
 */
export async function moveDatabase(move: DatabaseMove): Promise<MovedRows[]> {
  const { source, target, report } = move;
  if ((await readProgress(source)) !== null) {
    throw new AppError(
      'CONFLICT',
      'the source is itself the target of a move that is not finished',
    );
  }
  const progress = await prepareTarget(move);
  if ((await readProgress(source)) !== null) {
    await endProgress(target);
    throw new AppError(
      'CONFLICT',
      'source and target are the same database: without DATABASE_URL the source is the embedded one',
    );
  }
  const tables = await chooseTables(target, report);
  const columns = await matchColumns(source, target, tables);
  reportLeft(columns, report);
  const foreign = await listForeign(source);
  if (foreign.length > 0) report.note(`left out, as not ours: ${foreign.join(', ')}`);

  const total = await countRows(source, tables);
  let before = 0;
  for (const table of tables) {
    before += await moveTable(move, table, {
      columns: columns.get(table.name)?.columns ?? [],
      from: progress.get(table.name),
      onRows: (rows) => report.copied(before + rows, total, table.name),
    });
  }
  return finish(move, tables, columns);
}

/** Makes sure that nothing of somebody else's is written into, and tells how far an earlier move got. */
async function prepareTarget({
  target,
  startOver,
  report,
}: DatabaseMove): Promise<ReadonlyMap<string, ProgressEntry>> {
  const progress = await readProgress(target);
  if (progress === null) {
    if (startOver) throw new AppError('CONFLICT', 'the target holds no unfinished move');
    const filled = await listFilled(target);
    if (filled.length > 0) {
      throw new AppError(
        'CONFLICT',
        `the target is not empty: it has rows in ${filled.join(', ')}`,
      );
    }
    await beginProgress(target);
    return new Map();
  }
  if (startOver) {
    await undoProgress(target, movedTables);
    report.note('what the unfinished move had copied was removed');
    return new Map();
  }
  report.note('going on with the unfinished move');
  return progress;
}

async function listFilled(target: Database): Promise<string[]> {
  const isFilled = movedTables.map(
    ({ name }) => `('${name}', EXISTS (SELECT FROM ${quoteName(name)}))`,
  );
  const rows = await target.query<{ name: string }>({
    text: `SELECT name FROM (VALUES ${isFilled.join(', ')}) AS tables (name, is_filled) WHERE is_filled`,
  });
  return rows.map(({ name }) => name);
}

async function chooseTables(target: Database, report: MoveReport): Promise<readonly MovedTable[]> {
  const reason = await explainMissingVectors(target);
  if (reason === null) return movedTables;
  report.note(`embeddings are left out, since the target cannot hold them: ${reason}`);
  return movedTables.filter((table) => !isOfEmbeddings(table));
}

function reportLeft(columns: ReadonlyMap<string, TableColumns>, report: MoveReport): void {
  for (const [table, { left }] of columns) {
    if (left.length > 0) report.note(`left out of ${table}, as not ours: ${left.join(', ')}`);
  }
}

/** Tables of other programs, and of a version of ours that is newer than this one. */
async function listForeign(source: Database): Promise<string[]> {
  const ours = [...movedTables.map(({ name }) => name), ...summaryTables];
  const rows = await source.query<{ name: string }>(
    {
      text: `SELECT tablename AS name FROM pg_tables
        WHERE schemaname = current_schema() AND tablename <> ALL ($1::text[]) ORDER BY 1`,
    },
    [ours],
  );
  return rows.map(({ name }) => name);
}

async function countRows(source: Database, tables: readonly MovedTable[]): Promise<number> {
  const counts = tables.map(({ name }) => `(SELECT count(*) FROM ${quoteName(name)})`);
  const [row] = await source.query<{ rows: number }>(
    { text: `SELECT (${counts.join(' + ')})::int AS rows` },
    [],
    { timeoutMs: STATEMENT_TIMEOUT_MS },
  );
  return row?.rows ?? 0;
}

/** Returns how many rows of the table were copied, by this move or the one it goes on with. */
async function moveTable(
  { source, target }: DatabaseMove,
  table: MovedTable,
  {
    columns,
    from,
    onRows,
  }: {
    columns: TableColumns['columns'];
    from: ProgressEntry | undefined;
    onRows(rows: number): void;
  },
): Promise<number> {
  let copied = from?.rows ?? 0;
  try {
    await loosenColumns(target, table.name, columns);
    await copyTable({
      source,
      target,
      table,
      columns,
      from,
      onRows(rows) {
        copied = rows;
        onRows(rows);
      },
    });
    await continueIds(source, target, table);
    return copied;
  } catch (cause) {
    const code = cause instanceof AppError ? cause.code : 'INTERNAL_ERROR';
    const reason = cause instanceof AppError ? (cause.cause ?? cause) : cause;
    throw new AppError(code, `${table.name} was moved as far as ${copied} rows`, {
      cause: reason,
    });
  }
}

/** Compares, and lets the target be used only when nothing is missing. */
async function finish(
  { source, target, report }: DatabaseMove,
  tables: readonly MovedTable[],
  columns: ReadonlyMap<string, TableColumns>,
): Promise<MovedRows[]> {
  const moved: MovedRows[] = [];
  const different: string[] = [];
  report.note('comparing');
  for (const table of tables) {
    const { rows, isEqual } = await compareTable(
      source,
      target,
      table,
      columns.get(table.name)?.columns ?? [],
    );
    if (isEqual) moved.push({ table: table.name, rows });
    else different.push(table.name);
    // Of rows that came all at once the planner knows nothing yet.
    await target.query({ text: `ANALYZE ${quoteName(table.name)}` }, [], {
      timeoutMs: STATEMENT_TIMEOUT_MS,
    });
  }
  if (different.length > 0) {
    throw new AppError(
      'CONFLICT',
      `source and target differ in ${different.join(', ')}: something wrote meanwhile`,
    );
  }
  await endProgress(target);
  return moved;
}
