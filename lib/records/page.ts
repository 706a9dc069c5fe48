import type { Database, SqlValue, Statement } from '../platform/database/database.ts';

/** One page of a list. `items` is the text of a JSON array that Postgres built. */
export interface Page {
  items: string;
  totalItems: number;
}

/** Which page: counted from 1, with `limit` items on each. */
export interface PageRequest {
  page: number;
  limit: number;
}

/** How many items stand before a page. A product that is too large for bigint is past every end. */
export function pageOffset({ page, limit }: PageRequest): number {
  return Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
}

/** SQL for a timestamp as ISO 8601 in UTC with microseconds, which a JavaScript Date would lose. */
export function iso(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** SQL for the JSON array, as text, of the rows of a select; their columns become the fields. */
export function jsonArray(select: string): string {
  return `(SELECT coalesce(json_agg(item), '[]')::text FROM (${select}) AS item)`;
}

/** SQL for the JSON object, as text, of the first row of a select; NULL when it has none. */
export function jsonObject(select: string): string {
  return `(SELECT row_to_json(item)::text FROM (${select}) AS item)`;
}

/** SQL of a statement that answers one page: the items of a select and the count of them all. */
export function pageQuery(select: string, total: string): string {
  return `SELECT ${jsonArray(select)} AS items, (${total})::text AS total`;
}

/** Runs a statement made by `pageQuery`. */
export async function readPage(
  db: Database,
  statement: Statement,
  values: readonly SqlValue[],
): Promise<Page> {
  const [row] = await db.query<{ items: string; total: string }>(statement, values);
  if (!row) throw new Error(`${statement.name} answered no row`);
  return { items: row.items, totalItems: Number(row.total) };
}

/** Runs a statement that answers one JSON object, in a column `item`; null when there is none. */
export async function readObject(
  db: Database,
  statement: Statement,
  values: readonly SqlValue[] = [],
): Promise<string | null> {
  const [row] = await db.query<{ item: string | null }>(statement, values);
  return row?.item ?? null;
}
