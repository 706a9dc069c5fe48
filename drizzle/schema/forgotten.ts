import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** Repositories forgotten on purpose, until something newer is recorded about them. */
export const forgottenRepositories = pgTable('forgotten_repositories', {
  repoFullName: text('repo_full_name').primaryKey(),
  /** The newest result of the repository at that time. */
  resultId: bigint('result_id', { mode: 'bigint' }).notNull(),
  /** When a run had last found it good before that; null if never. */
  checkedAt: time('checked_at'),
  forgottenAt: time('forgotten_at').notNull().defaultNow(),
  forgottenBy: text('forgotten_by').notNull().default(''),
});
