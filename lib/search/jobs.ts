import type { Database, Statement } from '../platform/database/database.ts';
import { type EmbeddedType, type SourceRow, sourceOfJob } from './sources.ts';

/** A job whose batch stopped without a word is taken up again after this (decisions 5). */
export const LEASE_MS = 5 * 60_000;
/** A job that failed this often has failed for good (decisions 5). */
export const MAX_ATTEMPTS = 3;

/** A job that this batch has to itself until its lease ends. */
export interface ClaimedJob extends SourceRow {
  /** A 64-bit integer. */
  id: string;
  source_type: EmbeddedType;
  source_id: string;
}

/** A piece of a source with its vector. */
export interface NewChunk {
  index: number;
  content: string;
  vector: Float32Array;
}

/** How a claimed job ended. */
export type JobOutcome = { job: ClaimedJob } & (
  | { chunks: readonly NewChunk[]; metadata: string }
  | { error: string }
);

/** A batch's hold on its jobs. */
export interface Lease {
  /** A random id: whoever holds another one does not hold these jobs. */
  holder: string;
  /** Milliseconds since the epoch. */
  now: number;
}

// Two callers never get one job: a row that somebody is claiming is passed over, and one that was claimed
// before the lock is tested again. The sources are read in the same statement.
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
 * Claims up to `limit` jobs of a generation that is BUILDING or ACTIVE, oldest first: those that are
 * pending and those whose lease has ended. (decisions 5, Embedding job)
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

// A job that somebody has locked is passed over, so that whoever deletes many sources, and their jobs, is
// never waited for and never in a deadlock with a batch.
const ours = `SELECT id FROM embedding_jobs
      WHERE id = ANY ($2::bigint[] || $3::bigint[]) AND status = 'processing' AND leased_by = $1`;
const held = `${ours} FOR UPDATE SKIP LOCKED`;
const passedOver = `ARRAY(${ours} EXCEPT SELECT id FROM held)::text[]`;

/**
 * How often a batch comes back to jobs that were passed over. Another caller's claim locks them too, for as
 * long as its statement takes; a transaction that deletes them may keep them for longer, and if it is rolled
 * back they are free again when the lease ends.
 */
const MOST_TRIES = 50;

// Only what is still held is completed, and only what was completed gets chunks: a batch that was
// overtaken, or whose source was changed or deleted meanwhile, stores nothing.
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
        error_message = fault.message
      FROM unnest($3::bigint[], $4::text[]) AS fault (id, message)
      WHERE job.id = fault.id AND job.id = ANY (ARRAY(SELECT id FROM held))
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
 * Ends jobs, each with its chunks or its failure, and returns how many still were ours to end. A job is
 * completed together with its chunks, in one statement, or not at all.
 */
export async function storeOutcomes(
  db: Database,
  holder: string,
  outcomes: readonly JobOutcome[],
): Promise<{ succeeded: number; failed: number }> {
  const counts = { succeeded: 0, failed: 0 };
  let left = outcomes;
  for (let tries = 0; tries < MOST_TRIES && left.length > 0; tries++) {
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
  /** Ids of jobs that are still ours and that somebody else has locked. */
  passed_over: string[];
}

async function storeUnlocked(
  db: Database,
  holder: string,
  outcomes: readonly JobOutcome[],
): Promise<Stored> {
  const done = outcomes.filter((outcome) => 'chunks' in outcome);
  const faults = outcomes.filter((outcome) => 'error' in outcome);
  const chunks = done.flatMap(({ job, metadata, chunks }) =>
    chunks.map((chunk) => ({ ...chunk, job, metadata })),
  );
  const [stored] = await db.query<Stored>(store, [
    holder,
    done.map(({ job }) => job.id),
    faults.map(({ job }) => job.id),
    faults.map(({ error }) => error),
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

/** Gives jobs back that were not tried, so that nobody has to wait for their lease to end. */
export async function releaseJobs(
  db: Database,
  holder: string,
  jobs: readonly ClaimedJob[],
): Promise<void> {
  let left = jobs.map(({ id }) => id);
  for (let tries = 0; tries < MOST_TRIES && left.length > 0; tries++) {
    const [released] = await db.query<Pick<Stored, 'passed_over'>>(release, [holder, left, []]);
    left = released?.passed_over ?? [];
  }
}

/** As pgvector reads it. Six digits are what a 32-bit float holds. */
function writeVector(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => (value === 0 ? '0' : value.toPrecision(6))).join(',')}]`;
}
