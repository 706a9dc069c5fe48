import type { Database, SqlValue, Statement } from '../../database/database.ts';

/** One page of a list. `items` is a JSON array, built by Postgres. */
export interface Page {
  items: string;
  totalItems: number;
}

/** A page by number (from 1) with `limit` items per page, or `limit` items from an offset. */
export interface PageRequest {
  page: number;
  limit: number;
  /** The number of items to skip, instead of a page number. */
  offset?: number | undefined;
}

/** The number of items before a page, limited to what bigint can represent. */
export function pageOffset({ page, limit, offset }: PageRequest): number {
  return offset ?? Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
}

/** The pagination fields of a response. */
export function paginationOf({ page, limit }: PageRequest, totalItems: number) {
  return { page, limit, total_items: totalItems, total_pages: Math.ceil(totalItems / limit) };
}

/** SQL for a timestamp as ISO 8601 in UTC with microseconds, which a JavaScript Date cannot represent. */
export function iso(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** SQL that turns the rows of a select into a JSON array, as text. */
export function jsonArray(select: string): string {
  return `(SELECT coalesce(json_agg(item), '[]')::text FROM (${select}) AS item)`;
}

/** SQL that turns the first row of a select into a JSON object, as text; NULL when there is none. */
export function jsonObject(select: string): string {
  return `(SELECT row_to_json(item)::text FROM (${select}) AS item)`;
}

/** SQL for one page: the items of a select and the total count. */
export function pageQuery(select: string, total: string): string {
  return `SELECT ${jsonArray(select)} AS items, (${total})::text AS total`;
}

/** Runs a statement built with `pageQuery`. */
export async function readPage(
  db: Database,
  statement: Statement,
  values: readonly SqlValue[],
): Promise<Page> {
  const [row] = await db.query<{ items: string; total: string }>(statement, values);
  if (!row) throw new Error(`${statement.name} returned no row`);
  return { items: row.items, totalItems: Number(row.total) };
}

/** Runs a statement that returns a JSON object in the column `item`; null when there is none. */
export async function readObject(
  db: Database,
  statement: Statement,
  values: readonly SqlValue[] = [],
): Promise<string | null> {
  const [row] = await db.query<{ item: string | null }>(statement, values);
  return row?.item ?? null;
}
