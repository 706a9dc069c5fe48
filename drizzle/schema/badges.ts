import { sql } from 'drizzle-orm';
import { bigserial, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { newestFirst, time } from './columns.ts';

/** Badges, readable by anyone who knows their address. */
export const badges = pgTable(
  'badges',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** SHA-256 of the unguessable part of the address, in hex, so that the database does not reveal the address. */
    tokenSha256: text('token_sha256').notNull(),
    /** Null for a badge of all repositories. */
    repositoryName: text('repository_name'),
    createdAt: time('created_at').notNull().defaultNow(),
    createdBy: text('created_by').notNull().default(''),
    /** When the address stopped working; null while it works. */
    revokedAt: time('revoked_at'),
  },
  (table) => [
    uniqueIndex('badges_by_token').on(table.tokenSha256),
    index('badges_in_use').on(newestFirst(table.id)).where(sql`revoked_at IS NULL`),
  ],
);
