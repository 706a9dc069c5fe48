import type { Database, Statement } from '../database/database.ts';
import { type EmbeddedType, type SourceRow, sourceOfJob } from './embedded-sources.ts';

/** After this long, jobs of a batch that stopped can be claimed again. */
export const LEASE_MS = 5 * 60_000;
/** A job fails permanently after this many attempts. */
export const MAX_ATTEMPTS = 3;

/** A job leased to one batch. */
export interface ClaimedJob extends SourceRow {
  /** A 64-bit integer. */
  id: string;
  source_type: EmbeddedType;
  source_id: string;
}

/** A chunk of a source with its vector. */
export interface NewChunk {
  index: number;
  content: string;
  vector: Float32Array;
}

/** The outcome of a claimed job. */
export type JobOutcome = { job: ClaimedJob } & (
  | { chunks: readonly NewChunk[]; metadata: string }
  | { error: string }
);

/** A batch's lease on its jobs. */
export interface Lease {
  /** A random id that identifies the batch. */
  holder: string;
  /** Milliseconds since the epoch. */
  now: number;
}

// Two callers never get the same job: the statement skips rows that another caller is claiming, and Postgres
// re-checks rows that changed before they were locked. It also reads the sources.
const claim: Statement = {
  name: 'claim_embedding_jobs',
  text: `WITH free AS MATERIALIZED (
      SELECT id FROM embedding_jobs
      WHERE generation_id = $1::int AND status IN ('pending', 'processing')
        AND leased_until <= $4::timestamptz
        AND EXISTS (
          SELECT FROM embedding_generations AS generation
          WHERE generation.id = $1::int AND generation.status IN ('BUILDING', 'ACTIVE')
        )
      ORDER BY leased_until, id LIMIT $2::int FOR UPDATE SKIP LOCKED
    ), job AS (
      UPDATE embedding_jobs AS job
      SET status = 'processing', leased_by = $3, leased_until = $5::timestamptz
      WHERE job.id = ANY (ARRAY(SELECT id FROM free))
      RETURNING job.id, job.source_type, job.source_id
    )
    SELECT job.id::text, job.source_type, job.source_id, source.*
    FROM job LEFT JOIN LATERAL (${sourceOfJob}) AS source ON true
    ORDER BY job.id`,
};

/**
 * Claims up to `limit` jobs of a BUILDING or ACTIVE generation, oldest first: pending jobs, and jobs whose
 * lease has expired.
 */
export function claimJobs(
  db: Database,
  { generationId, limit, lease }: { generationId: number; limit: number; lease: Lease },
): Promise<ClaimedJob[]> {
  return db.query<ClaimedJob>(claim, [
    generationId,
    limit,
    lease.holder,
    new Date(lease.now).toISOString(),
    new Date(lease.now + LEASE_MS).toISOString(),
  ]);
}

// Skips locked jobs, so that a batch neither waits for nor deadlocks with a transaction that deletes many
// sources and their jobs.
const ours = `SELECT id FROM embedding_jobs
      WHERE id = ANY ($2::bigint[] || $3::bigint[]) AND status = 'processing' AND leased_by = $1`;
const held = `${ours} FOR UPDATE SKIP LOCKED`;
const passedOver = `ARRAY(${ours} EXCEPT SELECT id FROM held)::text[]`;

/**
 * How often a batch retries skipped jobs. A concurrent claim locks them only briefly; a transaction that
 * deletes them may hold them longer. If that rolls back, they can be claimed again when the lease expires.
 */
const MAX_TRIES = 50;

// Completes only jobs that are still held, and stores chunks only for completed jobs: a batch whose lease
// expired, or whose source was changed or deleted meanwhile, stores nothing.
const store: Statement = {
  name: 'store_embedding_outcomes',
  text: `WITH held AS MATERIALIZED (
      ${held}
    ), completed AS (
      UPDATE embedding_jobs
      SET status = 'completed', leased_by = NULL, leased_until = '-infinity', error_message = NULL
      WHERE id = ANY (ARRAY(SELECT id FROM held)) AND id = ANY ($2::bigint[])
      RETURNING id, generation_id, source_type, source_id
    ), failed AS (
      UPDATE embedding_jobs AS job
      SET status = 'failed', attempts = ${MAX_ATTEMPTS}, leased_by = NULL, leased_until = '-infinity',
        error_message = failure.message
      FROM unnest($3::bigint[], $4::text[]) AS failure (id, message)
      WHERE job.id = failure.id AND job.id = ANY (ARRAY(SELECT id FROM held))
      RETURNING job.id
    ), stored AS (
      INSERT INTO embedding_chunks (generation_id, source_type, source_id, chunk_index, content,
        metadata, source_created_at, embedding)
      SELECT generation_id, source_type, source_id, chunk.index, chunk.content, chunk.metadata::jsonb,
        chunk.created_at::timestamptz, chunk.embedding::vector
      FROM unnest($5::bigint[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[])
        AS chunk (job_id, index, content, metadata, created_at, embedding)
      JOIN completed ON completed.id = chunk.job_id
    )
    SELECT (SELECT count(*) FROM completed)::int AS succeeded,
           (SELECT count(*) FROM failed)::int AS failed,
           ${passedOver} AS passed_over`,
};

/**
 * Stores the outcomes of jobs and returns how many were still held. A job is completed and its chunks are
 * stored atomically.
 */
export async function storeOutcomes(
  db: Database,
  holder: string,
  outcomes: readonly JobOutcome[],
): Promise<{ succeeded: number; failed: number }> {
  const counts = { succeeded: 0, failed: 0 };
  let left = outcomes;
  for (let tries = 0; tries < MAX_TRIES && left.length > 0; tries++) {
    const { succeeded, failed, passed_over } = await storeUnlocked(db, holder, left);
    counts.succeeded += succeeded;
    counts.failed += failed;
    left = left.filter(({ job }) => passed_over.includes(job.id));
  }
  return counts;
}

interface Stored {
  succeeded: number;
  failed: number;
  /** Ids of jobs that are still held but locked by another transaction. */
  passed_over: string[];
}

async function storeUnlocked(
  db: Database,
  holder: string,
  outcomes: readonly JobOutcome[],
): Promise<Stored> {
  const done = outcomes.filter((outcome) => 'chunks' in outcome);
  const failures = outcomes.filter((outcome) => 'error' in outcome);
  const chunks = done.flatMap(({ job, metadata, chunks }) =>
    chunks.map((chunk) => ({ ...chunk, job, metadata })),
  );
  const [stored] = await db.query<Stored>(store, [
    holder,
    done.map(({ job }) => job.id),
    failures.map(({ job }) => job.id),
    failures.map(({ error }) => error),
    chunks.map(({ job }) => job.id),
    chunks.map(({ index }) => index),
    chunks.map(({ content }) => content),
    chunks.map(({ metadata }) => metadata),
    chunks.map(({ job }) => job.created_at),
    chunks.map(({ vector }) => writeVector(vector)),
  ]);
  return stored ?? { succeeded: 0, failed: 0, passed_over: [] };
}

const release: Statement = {
  name: 'release_embedding_jobs',
  text: `WITH held AS MATERIALIZED (
      ${held}
    ), released AS (
      UPDATE embedding_jobs SET status = 'pending', leased_by = NULL, leased_until = '-infinity'
      WHERE id = ANY (ARRAY(SELECT id FROM held))
    )
    SELECT ${passedOver} AS passed_over`,
};

/** Releases jobs that were not attempted, so that they can be claimed before their lease expires. */
export async function releaseJobs(
  db: Database,
  holder: string,
  jobs: readonly ClaimedJob[],
): Promise<void> {
  let left = jobs.map(({ id }) => id);
  for (let tries = 0; tries < MAX_TRIES && left.length > 0; tries++) {
    const [released] = await db.query<Pick<Stored, 'passed_over'>>(release, [holder, left, []]);
    left = released?.passed_over ?? [];
  }
}

/** Formats a vector for pgvector. Six digits suffice for 32-bit floats. */
function writeVector(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => (value === 0 ? '0' : value.toPrecision(6))).join(',')}]`;
}
