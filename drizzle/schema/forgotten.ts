import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Repositories that somebody has given up, as long as nothing newer is recorded of them. */
export const forgottenRepositories = pgTable('forgotten_repositories', {
  repoFullName: text('repo_full_name').primaryKey(),
  /** The newest result of it then. */
  resultId: bigint('result_id', { mode: 'bigint' }).notNull(),
  /** When a run had last found it good then; null if none had. */
  checkedAt: time('checked_at'),
  forgottenAt: time('forgotten_at').notNull().defaultNow(),
  forgottenBy: text('forgotten_by').notNull().default(''),
});
