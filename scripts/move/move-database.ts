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
  readMoveProgress,
  undoProgress,
} from './progress.ts';
import {
  isOfEmbeddings,
  type MovedTable,
  movedTables,
  passingTables,
  summaryTables,
} from './tables.ts';

const STATEMENT_TIMEOUT_MS = 10 * 60_000;

/** Reports the progress of a move to the user. */
export interface MoveReport {
  /** Prints a line. */
  note(line: string): void;
  /** Updates the progress: copied rows, all rows, and the current table. */
  copied(rows: number, total: number, table: string): void;
}

export interface DatabaseMove {
  /** Both must have all migrations. Nothing else may write to either during the move. */
  source: Database;
  target: Database;
  /** Delete what an unfinished move has copied to the target instead of continuing it. */
  startOver: boolean;
  report: MoveReport;
}

/** A table that was moved. */
export interface MovedRows {
  table: string;
  rows: number;
}

/**
 * Copies everything from one database to another that is empty, or partly filled by an unfinished move, and
 * compares both. Only reads from the source. Memory stays bounded.
 *
 * Throws CONFLICT if the target contains other data or differs from the source at the end, or if the source
 * is the target or that of an unfinished move. Throws INTERNAL_ERROR or SERVICE_UNAVAILABLE, naming the
 * table, if a database fails: call it again.
 */
export async function moveDatabase(move: DatabaseMove): Promise<MovedRows[]> {
  const { source, target, report } = move;
  if ((await readMoveProgress(source)) !== null) {
    throw new AppError('CONFLICT', 'the source is the target of an unfinished move');
  }
  const progress = await prepareTarget(move);
  if ((await readMoveProgress(source)) !== null) {
    await endProgress(target);
    throw new AppError(
      'CONFLICT',
      'source and target are the same database (without DATABASE_URL, the source is the embedded one)',
    );
  }
  const tables = await chooseTables(target, report);
  const columns = await matchColumns(source, target, tables);
  reportLeft(columns, report);
  const foreign = await listForeign(source);
  if (foreign.length > 0)
    report.note(`not copied, as they belong to other programs: ${foreign.join(', ')}`);

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

/** Checks that the target is empty or has an unfinished move, and returns the progress of that move. */
async function prepareTarget({
  target,
  startOver,
  report,
}: DatabaseMove): Promise<ReadonlyMap<string, ProgressEntry>> {
  const progress = await readMoveProgress(target);
  if (progress === null) {
    if (startOver) throw new AppError('CONFLICT', 'the target has no unfinished move');
    // A server that was started on the target has made a key. It has signed nothing, or there would be other rows.
    const filled = (await listFilled(target)).filter((name) => name !== 'signing_keys');
    if (filled.length > 0) {
      throw new AppError(
        'CONFLICT',
        `the target is not empty: it has rows in ${filled.join(', ')}`,
      );
    }
    await beginProgress(target);
    await target.query({ text: 'DELETE FROM signing_keys' });
    return new Map();
  }
  if (startOver) {
    await undoProgress(target, movedTables);
    report.note('deleted what the unfinished move had copied');
    return new Map();
  }
  report.note('continuing the unfinished move');
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
  report.note(`embeddings are not copied, because the target cannot store them: ${reason}`);
  return movedTables.filter((table) => !isOfEmbeddings(table));
}

function reportLeft(columns: ReadonlyMap<string, TableColumns>, report: MoveReport): void {
  for (const [table, { left }] of columns) {
    if (left.length > 0)
      report.note(`not copied from ${table}, as they belong to other programs: ${left.join(', ')}`);
  }
}

/** Tables of other programs, or of a newer version of ours. */
async function listForeign(source: Database): Promise<string[]> {
  const ours = [...movedTables.map(({ name }) => name), ...summaryTables, ...passingTables];
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

/** Returns the number of copied rows of the table, including those of an earlier, interrupted move. */
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
    throw new AppError(code, `${table.name} failed after ${copied} rows`, {
      cause: reason,
    });
  }
}

/** Compares both databases and marks the move as finished if they are equal. */
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
    // The planner has no statistics of the new rows yet.
    await target.query({ text: `ANALYZE ${quoteName(table.name)}` }, [], {
      timeoutMs: STATEMENT_TIMEOUT_MS,
    });
  }
  if (different.length > 0) {
    throw new AppError(
      'CONFLICT',
      `source and target differ in ${different.join(', ')}: something has written to them during the move`,
    );
  }
  await endProgress(target);
  return moved;
}
