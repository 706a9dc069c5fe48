import { sql } from 'drizzle-orm';
import { bigint, type ExtraConfigColumn, index, timestamp } from 'drizzle-orm/pg-core';
/** A point in time, as ISO 8601. */
export const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });
/** Matches `ORDER BY … DESC`. The builder's default, NULLS LAST, does not. */
export const newestFirst = (column: ExtraConfigColumn) => column.desc().nullsFirst();
/** A number of bytes. */
export const bytes = (name: string) => bigint(name, { mode: 'bigint' });
/** A full-text index with the function search_document. */
export const documentIndex = (name: string, content: string) =>
  index(name)
    .using('gin', sql.raw(`search_document(id, ${content})`))
    .with({ gin_pending_list_limit: 512 });
/** SQL that concatenates columns. */
export const textOf = (...columns: string[]) =>
  columns.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ");
