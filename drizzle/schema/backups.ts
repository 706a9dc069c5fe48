import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  serial,
  text,
  unique,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { bytes, documentIndex, newestFirst, textOf, time } from './columns.ts';

// Other programs write these tables too: names and types are a contract, and optional columns have a
// default. Columns that are NULL in old rows stay nullable.

export const backupRuns = pgTable(
  'backup_runs',
  {
    id: serial('id').primaryKey(),
    status: text('status').notNull().default('running'),
    startedAt: time('started_at').notNull().defaultNow(),
    completedAt: time('completed_at'),
    totalRepos: integer('total_repos').default(0),
    successful: integer('successful').default(0),
    failed: integer('failed').default(0),
    skipped: integer('skipped').default(0),
    durationMs: bigint('duration_ms', { mode: 'number' }).default(0),
    errorMessage: text('error_message').default(''),
    heartbeatAt: time('heartbeat_at'),
    /** `worker` for the one active run of our workers, `spool:<uuid>` for a run delivered later; otherwise null. */
    exclusiveKey: text('exclusive_key'),
    /** What the worker is doing: bytes so far, and the active repositories. Null once the run has ended. */
    progress: jsonb('progress'),
    /** The token in the archive folder that all workers of a shared run must see; null for other runs. */
    fleetToken: text('fleet_token'),
    /**
     * The interval of the worker that started it, in milliseconds; 0 if a person started it once. Null if it is unknown
     * what did.
     */
    scheduleMs: bigint('schedule_ms', { mode: 'number' }),
    /** Sources that could not be read and never were, each with the reason: they are no repositories. Null for none. */
    unreadSources: jsonb('unread_sources'),
    /** The signal that ended its worker, such as SIGINT, or `person`; null if nothing stopped it. */
    stoppedBy: text('stopped_by'),
    /** Why it failed as a whole, if other parts ask for it (lib/records/runs/run-faults.ts); null for other reasons. */
    fault: text('fault'),
    /** The schedule that started it; null if something else did. */
    scheduleId: bigint('schedule_id', { mode: 'number' }),
    /** Whether it backs up all repositories. Null if that is unknown. */
    coversAll: boolean('covers_all'),
    /** Who asked it to stop, and when; null if nobody did. */
    stopRequestedBy: text('stop_requested_by'),
    stopRequestedAt: time('stop_requested_at'),
  },
  (table) => [
    unique('backup_runs_exclusive_key_unique').on(table.exclusiveKey),
    index('backup_runs_newest').on(newestFirst(table.startedAt), newestFirst(table.id)),
    index('backup_runs_running').on(table.id).where(sql`status = 'running'`),
    index('backup_runs_by_duration').on(
      table.durationMs.asc().nullsFirst(),
      table.startedAt.asc(),
      table.id.asc(),
    ),
    index('backup_runs_by_failures').on(
      table.failed.asc().nullsFirst(),
      table.startedAt.asc(),
      table.id.asc(),
    ),
    index('backup_runs_with_failures')
      .on(newestFirst(table.startedAt), newestFirst(table.id))
      .where(sql`status = 'failed' OR failed > 0 OR unread_sources IS NOT NULL`),
    index('backup_runs_good')
      .on(newestFirst(table.startedAt), newestFirst(table.id))
      .where(sql`status IN ('completed', 'success') AND coalesce(failed, 0) = 0`),
  ],
);

export const backupResults = pgTable(
  'backup_results',
  {
    id: serial('id').primaryKey(),
    runId: integer('run_id').notNull(),
    repoFullName: text('repo_full_name').notNull(),
    status: text('status').notNull().default('completed'),
    commitHash: text('commit_hash').default(''),
    archiveSizeBytes: bigint('archive_size_bytes', { mode: 'number' }).default(0),
    durationMs: bigint('duration_ms', { mode: 'number' }).default(0),
    errorMessage: text('error_message').default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    /** What is missing from a good archive, such as LFS objects; null if nothing is. */
    incomplete: text('incomplete'),
    /** The same by kind (lib/records/recording/results.ts), each with its text. Null if nothing is, or not recorded. */
    lacks: jsonb('lacks'),
    /** How many times the worker tried. Null if not recorded. */
    tries: integer('tries'),
    /** The kind of a failure, such as `login` (lib/worker/base/git-faults.ts). Null if not recorded. */
    fault: text('fault'),
  },
  (table) => [
    foreignKey({
      name: 'backup_results_run_id_fkey',
      columns: [table.runId],
      foreignColumns: [backupRuns.id],
    }).onDelete('cascade'),
    index('backup_results_of_run').on(table.runId, table.id),
    index('backup_results_newest_of_repo').on(
      table.repoFullName,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
    // Finds the last good results of a repository, however many failures followed.
    index('backup_results_newest_archived_of_repo')
      .on(table.repoFullName, newestFirst(table.createdAt), newestFirst(table.id))
      .where(sql`status IN ('completed', 'success')`),
    index('backup_results_newest_empty_of_repo')
      .on(table.repoFullName, newestFirst(table.createdAt), newestFirst(table.id))
      .where(sql`status = 'empty'`),
    index('backup_results_largest').on(
      table.archiveSizeBytes.desc().nullsLast(),
      newestFirst(table.id),
    ),
    documentIndex(
      'backup_results_document',
      textOf('repo_full_name', 'status', 'commit_hash', 'error_message'),
    ),
  ],
);

export const executionLogs = pgTable(
  'execution_logs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    runId: integer('run_id'),
    level: text('level').notNull().default('info'),
    message: text('message').notNull().default(''),
    repository: text('repository'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('execution_logs_newest').on(newestFirst(table.createdAt), newestFirst(table.id)),
    index('execution_logs_newest_of_level').on(
      sql`lower(level)`,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
    index('execution_logs_newest_of_run').on(
      table.runId,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
    // Queries over all levels read each level separately. left() bounds the size of an index entry.
    index('execution_logs_newest_of_repository')
      .on(
        sql`left(lower(repository), 256)`,
        sql`lower(level)`,
        newestFirst(table.createdAt),
        newestFirst(table.id),
      )
      .where(sql`repository IS NOT NULL`),
    index('execution_logs_newest_of_run_and_level').on(
      table.runId,
      sql`lower(level)`,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
    documentIndex('execution_logs_document', textOf('message', 'repository')),
  ],
);

export const analyticsSnapshots = pgTable(
  'analytics_snapshots',
  {
    id: serial('id').primaryKey(),
    runId: integer('run_id'),
    capturedAt: time('captured_at').notNull().defaultNow(),
    headCommit: text('head_commit').default(''),
    headCommitMessage: text('head_commit_message').default(''),
    headCommitAt: time('head_commit_at'),
    totalCommits: integer('total_commits').default(0),
    branchCount: integer('branch_count').default(0),
    tagCount: integer('tag_count').default(0),
    trackedFiles: integer('tracked_files').default(0),
    totalBlobSizeBytes: bytes('total_blob_size_bytes').default(sql`0`),
    avgBlobSizeBytes: bytes('avg_blob_size_bytes').default(sql`0`),
    largestBlobPath: text('largest_blob_path').default(''),
    largestBlobSizeBytes: bytes('largest_blob_size_bytes').default(sql`0`),
    archiveCount: integer('archive_count').default(0),
    totalArchiveSizeBytes: bytes('total_archive_size_bytes').default(sql`0`),
    avgArchiveSizeBytes: bytes('avg_archive_size_bytes').default(sql`0`),
    largestArchivePath: text('largest_archive_path').default(''),
    largestArchiveSizeBytes: bytes('largest_archive_size_bytes').default(sql`0`),
  },
  (table) => [
    index('analytics_snapshots_newest').on(newestFirst(table.capturedAt), newestFirst(table.id)),
    index('analytics_snapshots_newest_of_run').on(
      table.runId,
      newestFirst(table.capturedAt),
      newestFirst(table.id),
    ),
  ],
);

export const backupFixes = pgTable(
  'backup_fixes',
  {
    id: serial('id').primaryKey(),
    title: text('title').notNull().default(''),
    description: text('description').notNull().default(''),
    commitHash: text('commit_hash').default(''),
    author: text('author').default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  (table) => [
    index('backup_fixes_newest').on(newestFirst(table.createdAt), newestFirst(table.id)),
    documentIndex('backup_fixes_document', textOf('title', 'description', 'commit_hash', 'author')),
  ],
);

export const backupRunFixes = pgTable(
  'backup_run_fixes',
  {
    runId: integer('run_id').notNull(),
    fixId: integer('fix_id').notNull(),
  },
  (table) => [
    primaryKey({ name: 'backup_run_fixes_pkey', columns: [table.runId, table.fixId] }),
    foreignKey({
      name: 'backup_run_fixes_run_id_fkey',
      columns: [table.runId],
      foreignColumns: [backupRuns.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'backup_run_fixes_fix_id_fkey',
      columns: [table.fixId],
      foreignColumns: [backupFixes.id],
    }).onDelete('cascade'),
    index('backup_run_fixes_of_fix').on(table.fixId, table.runId),
  ],
);

export const backupRunRequests = pgTable(
  'backup_run_requests',
  {
    id: serial('id').primaryKey(),
    status: text('status').notNull().default('pending'),
    targetRepo: text('target_repo'),
    requestedBy: text('requested_by').notNull().default(''),
    reason: text('reason').notNull().default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    claimedAt: time('claimed_at'),
    runId: integer('run_id'),
    /**
     * The target of our requests, so that concurrent callers queue only one: the repository, or empty for
     * all. Null in rows of other writers.
     */
    queueKey: text('queue_key'),
  },
  (table) => [
    index('backup_run_requests_pending').on(table.id).where(sql`status = 'pending'`),
    uniqueIndex('backup_run_requests_queued').on(table.queueKey).where(sql`status = 'pending'`),
    index('backup_run_requests_of_run').on(table.runId),
  ],
);
