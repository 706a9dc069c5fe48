import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  check,
  type ExtraConfigColumn,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  serial,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

// The tables of decisions 3. Other programs write them too: names and types are a contract, and every
// column that a writer may leave out has a default. Columns that old rows hold NULL in stay nullable.

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });
/** As `ORDER BY … DESC` sorts: the builder's own default, NULLS LAST, would not serve such a query. */
const newestFirst = (column: ExtraConfigColumn) => column.desc().nullsFirst();
const bytes = (name: string) => bigint(name, { mode: 'bigint' });
/** What a row is found by: search_document of 0006_search.sql, over the text that its content makes. */
const documentIndex = (name: string, content: string) =>
  index(name)
    .using('gin', sql.raw(`search_document(id, ${content})`))
    .with({ gin_pending_list_limit: 512 });
/** SQL for some columns as one text. */
const textOf = (...columns: string[]) =>
  columns.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ");

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
    /** Held by the one run that a worker of ours has going; null in every other row. */
    exclusiveKey: text('exclusive_key'),
  },
  (table) => [
    unique('backup_runs_exclusive_key_unique').on(table.exclusiveKey),
    index('backup_runs_newest').on(newestFirst(table.startedAt), newestFirst(table.id)),
    index('backup_runs_running').on(table.id).where(sql`status = 'running'`),
    index('backup_runs_failed')
      .on(newestFirst(table.startedAt), newestFirst(table.id))
      .where(sql`status = 'failed' OR failed > 0`),
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
    // Every level is asked for its newest logs where the level does not matter. A text of any length fits.
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
     * What a request of ours is for, so that two callers at once queue one: the repository, or an empty
     * text for all of them. Null in other writers' rows, which may queue what they like.
     */
    queueKey: text('queue_key'),
  },
  (table) => [
    index('backup_run_requests_pending').on(table.id).where(sql`status = 'pending'`),
    uniqueIndex('backup_run_requests_queued').on(table.queueKey).where(sql`status = 'pending'`),
    index('backup_run_requests_of_run').on(table.runId),
  ],
);

export const workerRepoState = pgTable('worker_repo_state', {
  repoFullName: text('repo_full_name').primaryKey(),
  archiveKey: text('archive_key').default(''),
  archiveSha256: text('archive_sha256').default(''),
  lastCommitHash: text('last_commit_hash').default(''),
  updatedAt: time('updated_at').notNull().defaultNow(),
});

/** Users of the observatory beside the one from the environment (decisions 2, AUTH_USERNAME). */
export const users = pgTable('users', {
  username: text('username').primaryKey(),
  passwordHash: text('password_hash').notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
});

/** A user's own key of the model gateway, encrypted (spec 2, Gateway connection status). */
export const gatewayConnections = pgTable('gateway_connections', {
  username: text('username').primaryKey(),
  /** AES-256-GCM, bound to the username. */
  encryptedKey: text('encrypted_key').notNull(),
  keyHint: text('key_hint').notNull(),
  connectedAt: time('connected_at').notNull().defaultNow(),
  lastUsedAt: time('last_used_at'),
  /** The gateway refused the key with 401; it stays so until the user reconnects. */
  invalid: boolean('invalid').notNull().default(false),
});

/** A conversation of one user (spec 2, Chat session). */
export const chatSessions = pgTable(
  'chat_sessions',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    username: text('username').notNull(),
    sessionName: text('session_name').notNull().default(''),
    createdAt: time('created_at').notNull().defaultNow(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  (table) => [
    index('chat_sessions_of_user').on(
      table.username,
      newestFirst(table.updatedAt),
      newestFirst(table.id),
    ),
  ],
);

/** Questions and answers, also those outside any session (spec 2, Chat turn status). */
export const chatMessages = pgTable(
  'chat_messages',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    sessionId: uuid('session_id'),
    username: text('username').notNull(),
    /** user or assistant */
    role: text('role').notNull(),
    content: text('content').notNull(),
    requestId: text('request_id').notNull(),
    /** completed or failed for an answer; null for a question */
    status: text('status'),
    toolCalls: jsonb('tool_calls').notNull().default([]),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    foreignKey({
      name: 'chat_messages_session_id_fkey',
      columns: [table.sessionId],
      foreignColumns: [chatSessions.id],
    }).onDelete('cascade'),
    index('chat_messages_of_session').on(table.sessionId, table.id),
    documentIndex('chat_messages_document', 'content'),
  ],
);

/** What was reported to whom (spec 2, rule 7; decisions 5). */
export const reports = pgTable(
  'reports',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    /** Null for a report of the MCP server, which is no user's. */
    username: text('username'),
    /** latest_backup, executive_summary, failure_investigation, or custom for one that was handed in. */
    reportType: text('report_type').notNull(),
    subject: text('subject').notNull(),
    recipients: text('recipients').array().notNull().default([]),
    /** How the latest delivery ended; generated before the first. */
    status: text('status').notNull().default('generated'),
    contentMarkdown: text('content_markdown').notNull(),
    contentHtml: text('content_html').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** Of the latest delivery that the mail service took. */
    sentAt: time('sent_at'),
    errorMessage: text('error_message'),
  },
  (table) => [
    check('reports_status_check', sql`status IN ('generated', 'sent', 'failed')`),
    index('reports_of_user').on(
      table.username,
      newestFirst(table.createdAt),
      newestFirst(table.id),
    ),
  ],
);

/**
 * One version of the vector index, built with one embedding model (spec 2, Embedding generation). At most
 * one is BUILDING and one ACTIVE.
 */
export const embeddingGenerations = pgTable(
  'embedding_generations',
  {
    id: serial('id').primaryKey(),
    modelId: text('model_id').notNull(),
    dimensions: integer('dimensions').notNull(),
    status: text('status').notNull().default('BUILDING'),
    createdAt: time('created_at').notNull().defaultNow(),
    activatedAt: time('activated_at'),
  },
  (table) => [
    check(
      'embedding_generations_status_check',
      sql`status IN ('BUILDING', 'READY', 'ACTIVE', 'RETIRED', 'FAILED')`,
    ),
    uniqueIndex('embedding_generations_building').on(table.status).where(sql`status = 'BUILDING'`),
    uniqueIndex('embedding_generations_active').on(table.status).where(sql`status = 'ACTIVE'`),
  ],
);

/**
 * One source record that a generation embeds. No foreign key: checking it for millions of jobs at once
 * would take longer than making them.
 */
export const embeddingJobs = pgTable(
  'embedding_jobs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    generationId: integer('generation_id').notNull(),
    /** execution_log, backup_result or investigation */
    sourceType: text('source_type').notNull(),
    sourceId: text('source_id').notNull(),
    status: text('status').notNull().default('pending'),
    /** Attempts that failed. */
    attempts: integer('attempts').notNull().default(0),
    /** Who works on it while it is processing: the batch that claimed it. */
    leasedBy: text('leased_by'),
    /** A job that nobody works on was leased until ever ago, so that one index finds what is free. */
    leasedUntil: time('leased_until').notNull().default('-infinity'),
    errorMessage: text('error_message'),
  },
  (table) => [
    check(
      'embedding_jobs_status_check',
      sql`status IN ('pending', 'processing', 'completed', 'failed')`,
    ),
    uniqueIndex('embedding_jobs_of_source').on(
      table.generationId,
      table.sourceType,
      table.sourceId,
    ),
    index('embedding_jobs_open')
      .on(table.generationId, table.leasedUntil, table.id)
      .where(sql`status IN ('pending', 'processing')`),
    index('embedding_jobs_failed').on(table.generationId).where(sql`status = 'failed'`),
  ],
);

/**
 * A piece of a source's text, redacted. Its vector is the column `embedding`, which only a database that
 * has the vector extension has: 0005_embeddings.sql.
 */
export const embeddingChunks = pgTable(
  'embedding_chunks',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    generationId: integer('generation_id').notNull(),
    sourceType: text('source_type').notNull(),
    sourceId: text('source_id').notNull(),
    /** From 0. */
    chunkIndex: integer('chunk_index').notNull(),
    content: text('content').notNull(),
    metadata: jsonb('metadata').notNull().default({}),
    sourceCreatedAt: time('source_created_at').notNull(),
  },
  (table) => [
    uniqueIndex('embedding_chunks_of_source').on(
      table.generationId,
      table.sourceType,
      table.sourceId,
      table.chunkIndex,
    ),
    documentIndex('embedding_chunks_document', 'content'),
  ],
);

/** How far a generation has seen each kind of source (lib/search/new-sources.ts). */
export const embeddingWatermarks = pgTable(
  'embedding_watermarks',
  {
    generationId: integer('generation_id').notNull(),
    sourceType: text('source_type').notNull(),
    /** Whatever will ever have an id up to this one has its job. */
    settledId: bigint('settled_id', { mode: 'bigint' }).notNull(),
    /** The highest id when it was looked last, and the first transaction that began after that. */
    seenId: bigint('seen_id', { mode: 'bigint' }).notNull(),
    seenBefore: bigint('seen_before', { mode: 'bigint' }).notNull(),
  },
  (table) => [
    primaryKey({
      name: 'embedding_watermarks_pkey',
      columns: [table.generationId, table.sourceType],
    }),
  ],
);

// Summaries: kept by statement-level triggers (0001_summaries.sql, 0002_newest_results.sql), never
// written by the code. Several rows may stand for one key; a figure is their sum.

/** How many logs each run wrote at each level in each hour. */
export const executionLogCounts = pgTable(
  'execution_log_counts',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    hour: time('hour').notNull(),
    /** The run's id, or 4294967296, which no run has, for logs of no run. */
    runKey: bigint('run_key', { mode: 'number' }).notNull(),
    level: text('level').notNull(),
    logCount: bigint('log_count', { mode: 'bigint' }).notNull(),
  },
  (table) => [
    index('execution_log_counts_of_run').on(table.runKey, table.level, table.hour),
    index('execution_log_counts_of_level').on(table.level, table.hour, table.runKey),
  ],
);

/** How many bytes of archives each run made. */
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
 * The newest result of each repository. Of several rows for one repository that with the newest
 * (created_at, result_id) counts; a stale one says that its result was changed or deleted, so that
 * backup_results itself has to be asked.
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
