import { sql } from 'drizzle-orm';
import { bigserial, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { newestFirst, time } from './columns.ts';

/** Badges, which anyone who knows their address may read. */
export const badges = pgTable(
  'badges',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** SHA-256 of the unguessable part of the address, in hex: the database does not give the address away. */
    tokenSha256: text('token_sha256').notNull(),
    /** Null for all repositories together. */
    repositoryName: text('repository_name'),
    createdAt: time('created_at').notNull().defaultNow(),
    createdBy: text('created_by').notNull().default(''),
    /** When its address stopped to work; null as long as it works. */
    revokedAt: time('revoked_at'),
  },
  (table) => [
    uniqueIndex('badges_by_token').on(table.tokenSha256),
    index('badges_in_use').on(newestFirst(table.id)).where(sql`revoked_at IS NULL`),
  ],
);
