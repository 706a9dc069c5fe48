import type { Database } from '../../lib/database/database.ts';
import { type MovedColumn, quoteName } from './columns.ts';
import { endOf, orderOf, type PageEnd, pageAfterKey, selectOf } from './pages.ts';
import { type ProgressEntry, progressTable } from './progress.ts';
import type { MovedTable } from './tables.ts';

/** Maximum size of a page, unless a single row is larger. Two pages are in memory at a time. */
const PAGE_BYTES = 2 * 1024 * 1024;
const PAGE_ROWS = 2_000;
const STATEMENT_TIMEOUT_MS = 5 * 60_000;

/** Rows as the text of a JSON array, which this process does not parse. */
interface Page {
  rows: number;
  data: string;
  end: PageEnd;
}

export interface TableCopy {
  source: Database;
  target: Database;
  table: MovedTable;
  columns: readonly MovedColumn[];
  /** Where an earlier move was interrupted. */
  from: ProgressEntry | undefined;
  /** Called after each page with the total number of copied rows. */
  onRows(rows: number): void;
}

/**
 * Copies the rows of a table in key order, page by page. Each page is stored with the progress in one
 * statement, so that an interrupted copy continues after the last stored page.
 */
export async function copyTable({ source, target, table, columns, from, onRows }: TableCopy) {
  let copied = from?.rows ?? 0;
  let limit = PAGE_ROWS;
  let page = await readPage(source, table, columns, { after: from?.end ?? null, limit });
  while (page !== null) {
    const { rows, end }: Page = page;
    // If rows are large, do not read many more than fit a page.
    limit = Math.min(PAGE_ROWS, 2 * rows);
    // Read the next page while this one is written. Wait for both, so that a page that does arrive is not
    // sent again.
    const [written, next] = await Promise.allSettled([
      writePage(target, table, columns, page),
      readPage(source, table, columns, { after: end, limit }),
    ]);
    if (written.status === 'rejected') throw written.reason;
    copied += rows;
    onRows(copied);
    if (next.status === 'rejected') throw next.reason;
    page = next.value;
  }
}

async function readPage(
  source: Database,
  table: MovedTable,
  columns: readonly MovedColumn[],
  { after, limit }: { after: PageEnd | null; limit: number },
): Promise<Page | null> {
  const page = pageAfterKey(table, selectOf(table, columns), { isFirst: after === null, limit });
  const [read] = await source.query<Page>(
    {
      text: `WITH page AS (${page}), encoded AS MATERIALIZED (
          SELECT to_json(page)::text AS data, ${endOf(table)} AS page_end,
            row_number() OVER (ORDER BY ${orderOf(table.key)}) AS place FROM page
        ), measured AS (
          SELECT *, sum(octet_length(data)) OVER (ORDER BY place) AS bytes FROM encoded
        )
        SELECT count(*)::int AS rows, '[' || string_agg(data, ',' ORDER BY place) || ']' AS data,
          (array_agg(page_end ORDER BY place DESC))[1] AS end
        FROM measured WHERE place = 1 OR bytes <= ${PAGE_BYTES}`,
    },
    after === null ? [] : [after],
    { timeoutMs: STATEMENT_TIMEOUT_MS },
  );
  return read === undefined || read.rows === 0 ? null : read;
}

async function writePage(
  target: Database,
  { name }: MovedTable,
  columns: readonly MovedColumn[],
  { rows, data, end }: Page,
): Promise<void> {
  const table = quoteName(name);
  const list = columns.map((column) => quoteName(column.name)).join(', ');
  await target.query(
    {
      text: `WITH copied AS (
          INSERT INTO ${table} (${list}) OVERRIDING SYSTEM VALUE
          SELECT ${list} FROM json_populate_recordset(NULL::${table}, $1::json)
        )
        INSERT INTO ${progressTable} AS progress (relation, copied_rows, page_end)
        VALUES ($2, $3::bigint, $4)
        ON CONFLICT (relation) DO UPDATE SET page_end = excluded.page_end,
          copied_rows = progress.copied_rows + excluded.copied_rows`,
    },
    [data, name, rows, end],
    { timeoutMs: STATEMENT_TIMEOUT_MS },
  );
}
