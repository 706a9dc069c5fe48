import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { newestFirst, time } from './columns.ts';

export const workerRepoState = pgTable(
  'worker_repo_state',
  {
    repoFullName: text('repo_full_name').primaryKey(),
    archiveKey: text('archive_key').default(''),
    archiveSha256: text('archive_sha256').default(''),
    lastCommitHash: text('last_commit_hash').default(''),
    updatedAt: time('updated_at').notNull().defaultNow(),
    /** When a run last found the repository good: backed up, unchanged or empty. */
    checkedAt: time('checked_at'),
    /** The machine (the id in its DATA_DIR) whose mirror was used last. */
    mirrorMachine: text('mirror_machine'),
    /** When a run last found every file that the archive's newest version needs, and on which machine. */
    archiveSeenAt: time('archive_seen_at'),
    archiveSeenBy: text('archive_seen_by'),
    /** Since when a file of the archive is missing, and which; null while all are there. */
    archiveMissingSince: time('archive_missing_since'),
    archiveMissing: text('archive_missing'),
    /** How much of the archive that is (lib/records/recording/archive-looks.ts). */
    archiveMissingKind: text('archive_missing_kind'),
  },
  () => [
    index('worker_repo_state_missing')
      .on(sql`lower(repo_full_name)`)
      .where(sql`archive_missing_since IS NOT NULL`),
  ],
);

/** Where each repository was read last, so that repositories with similar names can be told apart. */
export const repositorySources = pgTable(
  'repository_sources',
  {
    repoFullName: text('repo_full_name').primaryKey(),
    /** A path or a URL, without credentials. */
    address: text('address').notNull(),
    /** Since when it has been read there. */
    seenAt: time('seen_at').notNull().defaultNow(),
    /** The key of the source that names it (lib/records/sources/sources.ts); null if it was only given to a run. */
    namedBy: text('named_by'),
  },
  (table) => [
    index('repository_sources_of_repo').on(sql`lower(repo_full_name)`),
    index('repository_sources_by_source').on(table.namedBy),
  ],
);

/** Which store has which version of a repository's archive. */
export const archiveStores = pgTable(
  'archive_stores',
  {
    repoFullName: text('repo_full_name').notNull(),
    /** The address without parameters, such as `s3://bucket/prefix`. */
    store: text('store').notNull(),
    /** The newest version in the store; null if there is none, or for an archive without versions. */
    version: integer('version'),
    /** When that version was stored. */
    storedAt: time('stored_at'),
    /** Since when storing has failed; null if it did not fail last time. */
    failingSince: time('failing_since'),
    /** Why storing failed. */
    reason: text('reason').notNull().default(''),
    /** What that failure means (lib/records/recording/stores.ts); null if it did not fail, or not recorded. */
    fault: text('fault'),
    /** When storing was last tried. Null if not recorded. */
    triedAt: time('tried_at'),
    /** Since when the repository has been backed up without this store; null if it is used. */
    unusedSince: time('unused_since'),
    /** The machines (the ids in their DATA_DIR) whose last run used the store. Null if not recorded. */
    usedBy: text('used_by').array(),
  },
  (table) => [
    primaryKey({ columns: [table.repoFullName, table.store] }),
    index('archive_stores_repo_idx').on(sql`lower(${table.repoFullName})`),
    index('archive_stores_failing')
      .on(table.store, table.repoFullName)
      .where(sql`failing_since IS NOT NULL`),
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
    /** The branch of HEAD; null if HEAD was detached or its branch is unknown. */
    headBranch: text('head_branch'),
    refCount: integer('ref_count').notNull().default(0),
    /** A digest of all refs: digestRefs of lib/archives/base/manifest.ts. */
    refsSha256: text('refs_sha256').notNull().default(''),
    manifestSha256: text('manifest_sha256').notNull().default(''),
    /** The file name of the full bundle. */
    archiveKey: text('archive_key').notNull().default(''),
    /** How many files of the archive the version needs. */
    files: integer('files').notNull().default(1),
    /** The size of the whole archive when the version was made; `newBytes` is what the version added. */
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull().default(0),
    newBytes: bigint('new_bytes', { mode: 'number' }).notNull().default(0),
    /** A warning, such as a rewritten history. */
    warning: text('warning'),
    /** When retention pruned the version; null while it can be restored. */
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
    /** At most 1,000 bytes: lib/records/anomalies/ref-names.ts. */
    name: text('name').notNull(),
    objectId: text('object_id').notNull(),
    /** The first version in which the ref pointed there, and the first in which it did not; null if it still does. */
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
 * What a person should look at: a change between two versions of a repository, or repositories that a discovery no
 * longer found. An unconfirmed anomaly prevents the pruning of older versions.
 */
export const anomalies = pgTable(
  'anomalies',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** Null if the anomaly concerns all repositories. */
    repoFullName: text('repo_full_name'),
    runId: integer('run_id'),
    /** The version that differs from the previous one; for an emptied repository, its last version. */
    version: integer('version'),
    /** From lib/records/anomalies/kinds.ts. */
    kind: text('kind').notNull(),
    /** The number of changes; `before` and `after` contain the first ones. */
    changeCount: integer('change_count').notNull().default(1),
    /** The old values by name, such as a ref's object id. */
    before: jsonb('before').notNull().default({}),
    /** The new values by name; without entries for what no longer exists. */
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

/** What the last discovery saw on the git host, and what the run did with it. Each discovery replaces all rows. */
export const coverage = pgTable(
  'coverage',
  {
    /** The full name as spelled by the git host; for an account, its name. */
    name: text('name').primaryKey(),
    runId: integer('run_id').notNull(),
    seenAt: time('seen_at').notNull().defaultNow(),
    /** `taken` if the run backs it up; otherwise why it does not: lib/records/recording/plans.ts. */
    plan: text('plan').notNull(),
    /** An explanation for people. */
    reason: text('reason').notNull().default(''),
    /** What the git host reports about it, such as whether it has a wiki. */
    facts: jsonb('facts').notNull().default({}),
  },
  () => [index('coverage_by_name').on(sql`lower(name)`)],
);

/**
 * The ledger of restore drills: whether an archive could be restored, and the evidence. Triggers reject every change
 * except new rows, and chain the rows by their hashes (functions/restore-drills.sql).
 */
export const restoreDrills = pgTable(
  'restore_drills',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    repositoryName: text('repository_name').notNull(),
    /** Null for an archive of an earlier release, and if it is unknown which version would have been restored. */
    version: integer('version'),
    /** `folder` for the archive folder, or the address of a store without parameters, such as `s3://bucket/prefix`. */
    storage: text('storage').notNull(),
    startedAt: time('started_at').notNull(),
    durationMs: bigint('duration_ms', { mode: 'number' }).notNull(),
    /** The size of the files that the version needs. */
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    outcome: text('outcome').notNull(),
    /** Why it is not proven. */
    reason: text('reason'),
    /** The findings: lib/drills/drill.ts. */
    evidence: jsonb('evidence').notNull(),
    /** The hash of the previous row; zeros for the first. */
    previousSha256: text('previous_sha256').notNull(),
    sha256: text('sha256').notNull(),
  },
  (table) => [
    check('restore_drills_outcome', sql`outcome IN ('proven', 'failed', 'incomplete')`),
    check('restore_drills_reason', sql`(outcome = 'proven') = (reason IS NULL)`),
    // No two rows may follow the same row.
    uniqueIndex('restore_drills_chain').on(table.previousSha256),
    // A spool may be delivered twice.
    uniqueIndex('restore_drills_once').on(table.repositoryName, table.startedAt),
    index('restore_drills_of_repo').on(
      sql`lower(repository_name)`,
      newestFirst(table.startedAt),
      newestFirst(table.id),
    ),
    index('restore_drills_proofs')
      .on(sql`lower(repository_name)`, newestFirst(table.startedAt), newestFirst(table.id))
      .where(sql`outcome = 'proven'`),
    index('restore_drills_failures')
      .on(sql`lower(repository_name)`, table.id)
      .where(sql`outcome = 'failed'`),
    index('restore_drills_newest').on(newestFirst(table.startedAt), newestFirst(table.id)),
  ],
);

/** Repositories being drilled, so that no other worker drills them at the same time. */
export const restoreDrillClaims = pgTable('restore_drill_claims', {
  /** In lower case. */
  repositoryName: text('repository_name').primaryKey(),
  /** A random id of the worker. */
  holder: text('holder').notNull(),
  /** When other workers may claim it. */
  until: time('until').notNull(),
});
