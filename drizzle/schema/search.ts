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
  serial,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { documentIndex, time } from './columns.ts';

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
