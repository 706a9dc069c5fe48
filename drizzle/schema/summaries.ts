import { bigint, boolean, index, numeric, pgTable, text } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

// Summaries are maintained by triggers (functions/summaries.sql, functions/newest-results.sql), never by the
// code. A key may have several rows; its value is their sum.

/** The number of logs per run, level and hour. */
export const executionLogCounts = pgTable(
  'execution_log_counts',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    hour: time('hour').notNull(),
    /** The run's id, or 4294967296 for logs without a run. */
    runKey: bigint('run_key', { mode: 'number' }).notNull(),
    level: text('level').notNull(),
    logCount: bigint('log_count', { mode: 'bigint' }).notNull(),
  },
  (table) => [
    index('execution_log_counts_of_run').on(table.runKey, table.level, table.hour),
    index('execution_log_counts_of_level').on(table.level, table.hour, table.runKey),
  ],
);

/** The total archive size per run. */
export const backupResultTotals = pgTable(
  'backup_result_totals',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    runKey: bigint('run_key', { mode: 'number' }).notNull(),
    archiveSizeBytes: numeric('archive_size_bytes').notNull(),
  },
  (table) => [index('backup_result_totals_of_run').on(table.runKey)],
);

/**
 * The newest result of each repository. Of several rows for a repository, the one with the newest
 * (created_at, result_id) counts. If it is stale, its result was changed or deleted, and backup_results must
 * be queried instead.
 */
export const newestResults = pgTable(
  'newest_results',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    repoFullName: text('repo_full_name').notNull(),
    createdAt: time('created_at').notNull(),
    resultId: bigint('result_id', { mode: 'bigint' }).notNull(),
    status: text('status'),
    commitHash: text('commit_hash'),
    archiveSizeBytes: bigint('archive_size_bytes', { mode: 'bigint' }),
    stale: boolean('stale').notNull().default(false),
  },
  (table) => [index('newest_results_of_repo').on(table.repoFullName)],
);
