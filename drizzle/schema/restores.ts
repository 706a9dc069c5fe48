import { sql } from 'drizzle-orm';
import {
  bigserial,
  boolean,
  check,
  index,
  integer,
  json,
  pgTable,
  text,
} from 'drizzle-orm/pg-core';
import { newestFirst, time } from './columns.ts';

/** Restores that were asked for on the page or with the API, and how they ended. */
export const restores = pgTable(
  'restores',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    repoFullName: text('repo_full_name').notNull(),
    /** Null for the newest. */
    version: integer('version'),
    /** A branch or tag; null for all. */
    ref: text('ref'),
    /** `folder` or `push`. */
    kind: text('kind').notNull(),
    /** The absolute path of the folder, or the address of the repository. */
    target: text('target').notNull(),
    isBare: boolean('is_bare').notNull().default(false),
    status: text('status').notNull().default('waiting'),
    step: text('step'),
    filesDone: integer('files_done'),
    files: integer('files'),
    /** Why it failed. */
    error: text('error'),
    /** What was restored and pushed. */
    result: json('result'),
    requestedBy: text('requested_by').notNull(),
    /** The data folder of the server that restores, with the name of its machine. */
    server: text('server').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    startedAt: time('started_at'),
    endedAt: time('ended_at'),
    /** The last sign of life while it has not ended. */
    seenAt: time('seen_at').notNull().defaultNow(),
  },
  (table) => [
    check('restores_kind_check', sql`kind IN ('folder', 'push')`),
    check(
      'restores_status_check',
      sql`status IN ('waiting', 'running', 'done', 'failed', 'canceled', 'interrupted')`,
    ),
    index('restores_of_repository').on(sql`lower(repo_full_name)`, newestFirst(table.id)),
    index('restores_unfinished').on(table.server).where(sql`ended_at IS NULL`),
  ],
);
