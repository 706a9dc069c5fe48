import { sql } from 'drizzle-orm';
import { bigserial, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Public pages with the state of some repositories, readable by anyone who knows their address. */
export const statusPages = pgTable(
  'status_pages',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** SHA-256 of the last part of the address, in hex, so that the database does not reveal an unguessable one. */
    addressSha256: text('address_sha256').notNull(),
    /** The last part of the address if somebody chose it; null if it is unguessable. */
    address: text('address'),
    title: text('title').notNull(),
    /** The rows of the page: a list of `{label, repositories}`. */
    shows: jsonb('shows').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** When the address stopped working; null while it works. */
    revokedAt: time('revoked_at'),
  },
  (table) => [
    uniqueIndex('status_pages_by_address').on(table.addressSha256).where(sql`revoked_at IS NULL`),
  ],
);
