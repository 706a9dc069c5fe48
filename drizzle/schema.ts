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

// Other programs write these tables too: names and types are a contract, and optional columns have a
// default. Columns that are NULL in old rows stay nullable.

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });
/** Matches `ORDER BY … DESC`. The builder's default, NULLS LAST, does not. */
const newestFirst = (column: ExtraConfigColumn) => column.desc().nullsFirst();
const bytes = (name: string) => bigint(name, { mode: 'bigint' });
/** A full-text index with the function search_document. */
const documentIndex = (name: string, content: string) =>
  index(name)
    .using('gin', sql.raw(`search_document(id, ${content})`))
    .with({ gin_pending_list_limit: 512 });
/** SQL that concatenates columns. */
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
    /** `worker` for the one active run of our workers, `spool:<uuid>` for one that was delivered later; else null. */
    exclusiveKey: text('exclusive_key'),
    /** What the worker is at: bytes so far, and the active repositories. Null once the run has ended. */
    progress: jsonb('progress'),
    /** Of a run that workers share: the token in the archive folder that all of them must see. */
    fleetToken: text('fleet_token'),
  },
  (table) => [
    unique('backup_runs_exclusive_key_unique').on(table.exclusiveKey),
    index('backup_runs_newest').on(newestFirst(table.startedAt), newestFirst(table.id)),
    index('backup_runs_running').on(table.id).where(sql`status = 'running'`),
    index('backup_runs_failed')
      .on(newestFirst(table.startedAt), newestFirst(table.id))
      .where(sql`status = 'failed' OR failed > 0`),
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
    /** What a good archive does not hold, such as LFS objects; null when it holds all. */
    incomplete: text('incomplete'),
    /** How often the worker tried. Null in rows that do not say. */
    tries: integer('tries'),
    /** Of a failure: its kind, such as `login` (lib/worker/faults/git-faults.ts). Null in rows that do not say. */
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
    // The last good results of a repository, however many failures came after them.
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

export const workerRepoState = pgTable('worker_repo_state', {
  repoFullName: text('repo_full_name').primaryKey(),
  archiveKey: text('archive_key').default(''),
  archiveSha256: text('archive_sha256').default(''),
  lastCommitHash: text('last_commit_hash').default(''),
  updatedAt: time('updated_at').notNull().defaultNow(),
  /** When a run last found the repository good: backed up, unchanged or empty. */
  checkedAt: time('checked_at'),
  /** The machine (the id in its DATA_DIR) whose mirror was used last. */
  mirrorMachine: text('mirror_machine'),
});

/** Which store has which version of a repository's archive. */
export const archiveStores = pgTable(
  'archive_stores',
  {
    repoFullName: text('repo_full_name').notNull(),
    /** The address without parameters, such as `s3://bucket/prefix`. */
    store: text('store').notNull(),
    /** The newest version that it has; null if none, or for an archive without versions. */
    version: integer('version'),
    /** When it got that version. */
    storedAt: time('stored_at'),
    /** Since when storing has failed; null if it did not fail last time. */
    failingSince: time('failing_since'),
    /** Why it failed. */
    reason: text('reason').notNull().default(''),
  },
  (table) => [
    primaryKey({ columns: [table.repoFullName, table.store] }),
    index('archive_stores_repo_idx').on(sql`lower(${table.repoFullName})`),
  ],
);

/**
 * The workers that take part in a run that is shared. They are deleted when it ends. No foreign key: other programs
 * truncate runs with the tables that they know.
 */
export const runMembers = pgTable(
  'run_members',
  {
    runId: integer('run_id').notNull(),
    /** Of one process, in one run. */
    id: text('id').notNull(),
    /** The id in its DATA_DIR, where its mirrors are. */
    machine: text('machine').notNull(),
    hostName: text('host_name').notNull().default(''),
    /** The git host that it is configured for. */
    gitHostUrl: text('git_host_url').notNull().default(''),
    /** Whether it lists the repositories. */
    isStarter: boolean('is_starter').notNull().default(false),
    /** -infinity once it has left. */
    seenAt: time('seen_at').notNull().defaultNow(),
    progress: jsonb('progress'),
  },
  (table) => [primaryKey({ name: 'run_members_pkey', columns: [table.runId, table.id] })],
);

/** The repositories of a run that workers share, and its end. They are deleted when the run ends. */
export const runJobs = pgTable(
  'run_jobs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    runId: integer('run_id').notNull(),
    /** `repository`; `left_out`, which counts for the figures; `found`, a result without a backup; `end`, after all. */
    kind: text('kind').notNull(),
    repository: text('repository').notNull(),
    /** The longest job is 0. */
    position: integer('position').notNull().default(0),
    /** How long its last backup took; null if there is none. */
    expectedMs: bigint('expected_ms', { mode: 'number' }),
    /** What another worker needs to back it up: lib/worker/fleet/job-facts.ts. Never a token. */
    facts: jsonb('facts').notNull().default({}),
    /** The host that git asks; null for a folder. */
    host: text('host'),
    /** The git host whose login is needed; null if none is. */
    gitHostUrl: text('git_host_url'),
    /** The only member that can read it; null if all can. */
    onlyMember: text('only_member'),
    preferredMachine: text('preferred_machine'),
    state: text('state').notNull().default('open'),
    claimedBy: text('claimed_by'),
    /** -infinity for a job that is not claimed. */
    leaseUntil: time('lease_until').notNull().default('-infinity'),
    /** How often it was claimed, but not given back. */
    tries: integer('tries').notNull().default(0),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    check('run_jobs_kind_check', sql`kind IN ('repository', 'left_out', 'found', 'end')`),
    check('run_jobs_state_check', sql`state IN ('open', 'done')`),
    uniqueIndex('run_jobs_of_repository').on(table.runId, table.kind, table.repository),
    index('run_jobs_open').on(table.runId, table.kind, table.position).where(sql`state = 'open'`),
    index('run_jobs_preferred')
      .on(table.runId, table.preferredMachine, table.position)
      .where(sql`state = 'open'`),
  ],
);

/** The versions of each repository's archive. The archive folder has them too, and more about each. */
export const archiveVersions = pgTable(
  'archive_versions',
  {
    repoFullName: text('repo_full_name').notNull(),
    /** From 1. */
    version: integer('version').notNull(),
    /** Not a reference: a version outlives its run, and may be known before it. */
    runId: integer('run_id'),
    createdAt: time('created_at').notNull().defaultNow(),
    /** The branch of HEAD; null if HEAD was detached or unborn. */
    headBranch: text('head_branch'),
    refCount: integer('ref_count').notNull().default(0),
    /** A digest of all refs: digestRefs of lib/archives/manifest.ts. */
    refsSha256: text('refs_sha256').notNull().default(''),
    manifestSha256: text('manifest_sha256').notNull().default(''),
    /** The file name of the full bundle. */
    archiveKey: text('archive_key').notNull().default(''),
    /** How many files of the archive the version needs. */
    files: integer('files').notNull().default(1),
    /** Of the whole archive when the version was made, and what the version added to it. */
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull().default(0),
    newBytes: bigint('new_bytes', { mode: 'number' }).notNull().default(0),
    /** Such as a rewritten history. */
    warning: text('warning'),
    /** When retention let it go; null as long as it can be restored. */
    prunedAt: time('pruned_at'),
  },
  (table) => [
    primaryKey({ name: 'archive_versions_pkey', columns: [table.repoFullName, table.version] }),
    index('archive_versions_newest_of_repo').on(
      sql`lower(repo_full_name)`,
      newestFirst(table.version),
    ),
  ],
);

/**
 * Where the refs of each repository pointed: one row for as long as a ref stayed the same, so that the table
 * grows with changes and not with versions.
 */
export const archiveRefs = pgTable(
  'archive_refs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    repoFullName: text('repo_full_name').notNull(),
    /** At most 1,000 bytes: lib/records/recording/ref-names.ts. */
    name: text('name').notNull(),
    objectId: text('object_id').notNull(),
    /** The first version in which it pointed there, and the first in which it no longer did: null if it still does. */
    fromVersion: integer('from_version').notNull(),
    toVersion: integer('to_version'),
  },
  (table) => [
    // In the order of bytes, as git lists refs, so that the index also finds all names with a prefix.
    uniqueIndex('archive_refs_of_repo').on(
      table.repoFullName,
      sql`"name" COLLATE "C"`,
      table.fromVersion,
    ),
  ],
);

/**
 * What a person should look at: a change between two versions of a repository, or what a discovery no longer found.
 * As long as one is not confirmed, it holds back the pruning of older versions.
 */
export const anomalies = pgTable(
  'anomalies',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** Null for what concerns all repositories. */
    repoFullName: text('repo_full_name'),
    runId: integer('run_id'),
    /** The version that differs from the one before it; the last one for a repository that was emptied. */
    version: integer('version'),
    /** From lib/records/anomalies/kinds.ts. */
    kind: text('kind').notNull(),
    /** How many things changed, of which `before` and `after` name the first. */
    changeCount: integer('change_count').notNull().default(1),
    /** What was there by its name, such as a ref's object id. */
    before: jsonb('before').notNull().default({}),
    /** The same now; what is gone has no entry. */
    after: jsonb('after').notNull().default({}),
    seenAt: time('seen_at').notNull().defaultNow(),
    confirmedAt: time('confirmed_at'),
    confirmedBy: text('confirmed_by'),
  },
  (table) => [
    index('anomalies_newest').on(newestFirst(table.seenAt), newestFirst(table.id)),
    index('anomalies_of_repo').on(
      sql`lower(repo_full_name)`,
      newestFirst(table.seenAt),
      newestFirst(table.id),
    ),
    uniqueIndex('anomalies_of_version').on(table.repoFullName, table.version, table.kind),
    uniqueIndex('anomalies_of_run').on(table.runId, table.kind).where(sql`repo_full_name IS NULL`),
    index('anomalies_open')
      .on(newestFirst(table.seenAt), newestFirst(table.id))
      .where(sql`confirmed_at IS NULL`),
  ],
);

/** What the last discovery saw on the git host, and what became of it. The next one replaces all rows. */
export const coverage = pgTable(
  'coverage',
  {
    /** As the git host spells it; for an account, its name. */
    name: text('name').primaryKey(),
    runId: integer('run_id').notNull(),
    seenAt: time('seen_at').notNull().defaultNow(),
    /** `taken` for one that the run backs up; else why it does not: lib/records/coverage/plans.ts. */
    plan: text('plan').notNull(),
    /** For a person. */
    reason: text('reason').notNull().default(''),
    /** What the git host says of it, such as whether it has a wiki. */
    facts: jsonb('facts').notNull().default({}),
  },
  () => [index('coverage_by_name').on(sql`lower(name)`)],
);

/** Users of the observatory, in addition to AUTH_USERNAME from the environment. */
export const users = pgTable('users', {
  username: text('username').primaryKey(),
  passwordHash: text('password_hash').notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
});

/** Browser sessions that were ended by a log-out before their token expires. */
export const endedSessions = pgTable('ended_sessions', {
  id: text('id').primaryKey(),
  expiresAt: time('expires_at').notNull(),
});

/** A user's own key of the model gateway, encrypted. */
export const gatewayConnections = pgTable('gateway_connections', {
  username: text('username').primaryKey(),
  /** AES-256-GCM, bound to the username. */
  encryptedKey: text('encrypted_key').notNull(),
  keyHint: text('key_hint').notNull(),
  connectedAt: time('connected_at').notNull().defaultNow(),
  lastUsedAt: time('last_used_at'),
  /** The gateway rejected the key with 401. Stays set until the user reconnects. */
  invalid: boolean('invalid').notNull().default(false),
});

/** A chat session of a user. */
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

/** Questions and answers, with or without a session. */
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
    /** What the search found for the question of an answer, as it was streamed. */
    sources: jsonb('sources').notNull().default([]),
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

/** Generated reports and their delivery. */
export const reports = pgTable(
  'reports',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    /** Null for a report of the MCP server, which belongs to no user. */
    username: text('username'),
    /** latest_backup, executive_summary, failure_investigation, or custom for caller-provided content. */
    reportType: text('report_type').notNull(),
    subject: text('subject').notNull(),
    recipients: text('recipients').array().notNull().default([]),
    /** The outcome of the latest delivery; `generated` before the first. */
    status: text('status').notNull().default('generated'),
    contentMarkdown: text('content_markdown').notNull(),
    contentHtml: text('content_html').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** The time of the latest successful delivery. */
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
 * A version of the vector index, built with one embedding model. At most one is BUILDING and one ACTIVE.
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
 * A source record to embed for a generation. Has no foreign key, because checking it would take longer than
 * inserting millions of jobs.
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
    /** The batch that has claimed the job. */
    leasedBy: text('leased_by'),
    /** -infinity for a job that is not leased, so that one index finds all claimable jobs. */
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
 * A redacted chunk of a source's text. Its vector is in the column `embedding`, which only exists in
 * databases with the vector extension: 0005_embeddings.sql.
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

/** How far a generation has processed each source type (lib/search/enqueue-new-sources.ts). */
export const embeddingWatermarks = pgTable(
  'embedding_watermarks',
  {
    generationId: integer('generation_id').notNull(),
    sourceType: text('source_type').notNull(),
    /** All rows up to this id have a job, and no more can appear. */
    settledId: bigint('settled_id', { mode: 'bigint' }).notNull(),
    /** The highest id at the last look, and the first transaction id not assigned by then. */
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
