import type { Database } from '../../lib/database/database.ts';
import { type MovedColumn, quoteName } from './columns.ts';
import { endOf, orderOf, type PageEnd, pageAfterKey, selectOf } from './pages.ts';
import type { MovedTable } from './tables.ts';

const PAGE_ROWS = 20_000;
const STATEMENT_TIMEOUT_MS = 5 * 60_000;

interface Digest {
  rows: number;
  /** The sum of a part of each row's SHA-256. */
  sum: string;
  end: PageEnd | null;
}

/** The number of rows of a table in both databases, and whether they are equal. */
export interface Comparison {
  rows: number;
  isEqual: boolean;
}

/** Compares a table in two databases, page by page, up to the first difference. */
export async function compareTable(
  source: Database,
  target: Database,
  table: MovedTable,
  columns: readonly MovedColumn[],
): Promise<Comparison> {
  let end: PageEnd | null = null;
  let rows = 0;
  for (;;) {
    const [ours, theirs]: Digest[] = await Promise.all([
      readDigest(source, table, columns, end),
      readDigest(target, table, columns, end),
    ]);
    if (ours?.rows !== theirs?.rows || ours?.sum !== theirs?.sum || ours?.end !== theirs?.end) {
      return { rows, isEqual: false };
    }
    rows += ours?.rows ?? 0;
    end = ours?.end ?? null;
    if (end === null) return { rows, isEqual: true };
  }
}

async function readDigest(
  db: Database,
  table: MovedTable,
  columns: readonly MovedColumn[],
  after: PageEnd | null,
): Promise<Digest> {
  const page = pageAfterKey(table, selectOf(table, columns), {
    isFirst: after === null,
    limit: PAGE_ROWS,
  });
  const [digest] = await db.query<Digest>(
    {
      text: `WITH page AS (${page}), encoded AS (
          SELECT ${endOf(table)} AS page_end, row_number() OVER (ORDER BY ${orderOf(table.key)}) AS place,
            (SELECT to_json(compared)::text FROM (SELECT ${comparable(columns)}) AS compared) AS data
          FROM page
        )
        SELECT count(*)::int AS rows, max(page_end) FILTER (WHERE place = ${PAGE_ROWS}) AS end,
          coalesce(sum(('x' || left(encode(sha256(convert_to(data, 'UTF8')), 'hex'), 16))::bit(64)::bigint), 0)::text AS sum
        FROM encoded`,
    },
    after === null ? [] : [after],
    { timeoutMs: STATEMENT_TIMEOUT_MS },
  );
  return digest ?? { rows: 0, sum: '0', end: null };
}

/** SQL for the columns of a page, independent of session settings. */
function comparable(columns: readonly MovedColumn[]): string {
  return columns
    .map(({ name, type }) => {
      const column = `page.${quoteName(name)}`;
      return type === 'timestamptz' ? `${column} AT TIME ZONE 'UTC' AS ${quoteName(name)}` : column;
    })
    .join(', ');
}
