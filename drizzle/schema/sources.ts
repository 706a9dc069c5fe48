import { sql } from 'drizzle-orm';
import { check, pgTable, serial, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** What is backed up, as chosen on the page or with `worker sources`, in addition to BACKUP_SOURCES. */
export const sources = pgTable(
  'sources',
  {
    /** 0 for what the login discovers. */
    id: serial('id').primaryKey(),
    kind: text('kind').notNull(),
    /** An absolute path or a URL without credentials; empty for the login. */
    address: text('address').notNull().default(''),
    /** The same text for all spellings of an address; `login` for the login. */
    key: text('key').notNull(),
    /** Patterns of the repositories in it that are left out. */
    exclude: text('exclude').array().notNull().default([]),
    /** Null while it is backed up. */
    pausedAt: time('paused_at'),
    pausedBy: text('paused_by'),
    createdAt: time('created_at').notNull().defaultNow(),
    createdBy: text('created_by').notNull().default(''),
  },
  (table) => [
    check('sources_kind_check', sql`kind IN ('login', 'folder', 'address')`),
    uniqueIndex('sources_by_key').on(table.key),
  ],
);
