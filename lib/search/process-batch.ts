import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Redactor } from '../platform/redaction.ts';
import { embedJobs, prepareJob } from './embed-jobs.ts';
import type { Embedder } from './embedders/embedder.ts';
import {
  finishGeneration,
  type Generation,
  type GenerationStatus,
  readGeneration,
} from './generations.ts';
import {
  claimJobs,
  type JobOutcome,
  LEASE_MS,
  type Lease,
  releaseJobs,
  storeOutcomes,
} from './jobs.ts';
import { analyzeChunks, buildVectorIndex, isIndexed } from './vector-index.ts';

export interface BatchHandles {
  db: Database;
  clock: Clock;
  log: Log;
  redactor: Redactor;
  /** The embedder of a generation's model, with the caller's keys; called only when there is work. */
  openEmbedder(generation: Generation): Promise<Embedder>;
}

export interface BatchRequest {
  generationId: number;
  batchSize: number;
  maxBatches: number;
  /** Milliseconds after which no further work is started. */
  budgetMs: number;
}

/** What process-batch answers; the counts are jobs (spec 2, Endpoints). */
export interface BatchReport {
  processed: number;
  succeeded: number;
  failed: number;
  batches: number;
  generation_status: GenerationStatus;
}

/** Work on a group of jobs is not begun when the lease may end under it. */
const LEASE_RESERVE_MS = 90_000;

/**
 * Chunks that one statement stores. In the embedded database each takes milliseconds to get into the
 * index, and all the while the process that it is in serves nobody.
 */
const STORED_TOGETHER = { embedded: 8, server: 256 };

/**
 * Does up to `maxBatches` batches of a generation's jobs, then finishes the generation when none is left.
 * Several callers may do so at once, and each may be killed at any moment. Throws BAD_REQUEST for an
 * unknown generation, and the gateway's error when it kept every job from being done.
 */
export async function processBatches(
  handles: BatchHandles,
  request: BatchRequest,
): Promise<BatchReport> {
  const { db, clock, log } = handles;
  const generation = await readGeneration(db, request.generationId);
  if (!generation) {
    throw new AppError('BAD_REQUEST', `there is no generation ${request.generationId}`);
  }
  const counts = { processed: 0, succeeded: 0, failed: 0, batches: 0 };
  if (generation.has_open_jobs && isProcessed(generation)) {
    const embedder = await handles.openEmbedder(generation);
    const mostStored = STORED_TOGETHER[generation.is_embedded ? 'embedded' : 'server'];
    // Built at the end it would stop that process for minutes.
    if (generation.is_embedded && lacksIndex(generation)) await buildIndex(handles, generation, 0);
    const deadline = clock.now() + request.budgetMs;
    try {
      while (counts.batches < request.maxBatches) {
        const hasWork = await processBatch(
          handles,
          embedder,
          { ...request, deadline, mostStored },
          counts,
        );
        if (!hasWork || clock.now() >= deadline) break;
      }
    } catch (error) {
      // What was done is reported; whoever goes on meets the failure again.
      if (counts.processed === 0) throw error;
      log.warn('process-batch stopped early', { generation_id: generation.id, error });
    }
  }
  const generation_status = await settle(handles, generation.id);
  return { ...counts, generation_status };
}

/** Jobs of any other generation are left alone. */
function isProcessed({ status }: Generation): boolean {
  return status === 'BUILDING' || status === 'ACTIVE';
}

type Counts = Omit<BatchReport, 'generation_status'>;

/** One batch. Returns false when there was nothing to claim. */
async function processBatch(
  { db, clock, redactor }: BatchHandles,
  embedder: Embedder,
  {
    generationId,
    batchSize,
    deadline,
    mostStored,
  }: BatchRequest & { deadline: number; mostStored: number },
  counts: Counts,
): Promise<boolean> {
  const lease: Lease = { holder: randomUUID(), now: clock.now() };
  const claimed = await claimJobs(db, { generationId, limit: batchSize, lease });
  if (claimed.length === 0) return false;
  counts.batches++;
  let done = 0;
  try {
    const latest = Math.min(deadline, lease.now + LEASE_MS - LEASE_RESERVE_MS);
    while (done < claimed.length && (done === 0 || clock.now() < latest)) {
      const group = takeGroup(
        claimed.slice(done),
        embedder.batchSize,
        (job) => prepareJob(job, redactor),
        ({ chunks }) => chunks.length,
      );
      const outcomes = await embedJobs(embedder, group);
      while (outcomes.length > 0) {
        const some = takeGroup(outcomes, mostStored, (outcome) => outcome, countChunks);
        const { succeeded, failed } = await storeOutcomes(db, lease.holder, some);
        outcomes.splice(0, some.length);
        done += some.length;
        counts.succeeded += succeeded;
        counts.failed += failed;
        counts.processed += succeeded + failed;
        // Neither the built-in model nor the embedded database ever waits for anything: others get a turn.
        await nextRound();
      }
    }
  } finally {
    await releaseJobs(db, lease.holder, claimed.slice(done));
  }
  return true;
}

const countChunks = (outcome: JobOutcome) => ('chunks' in outcome ? outcome.chunks.length : 0);

/** The first items, prepared: as many as have no more than `most` chunks together, at least one. */
function takeGroup<Item, Prepared>(
  items: readonly Item[],
  most: number,
  prepare: (item: Item) => Prepared,
  count: (prepared: Prepared) => number,
): Prepared[] {
  const group: Prepared[] = [];
  let chunks = 0;
  for (const item of items) {
    const prepared = prepare(item);
    chunks += count(prepared);
    if (group.length > 0 && chunks > most) break;
    group.push(prepared);
  }
  return group;
}

/**
 * Builds the index of a generation that has no open jobs, and makes one that was BUILDING READY or FAILED.
 * While somebody else builds its index it stays BUILDING. Returns its status.
 */
async function settle(handles: BatchHandles, id: number): Promise<GenerationStatus> {
  const { db } = handles;
  const generation = await readGeneration(db, id);
  if (!generation) throw new AppError('BAD_REQUEST', `there is no generation ${id}`);
  if (generation.has_open_jobs) return generation.status;
  const isKept = ['BUILDING', 'READY', 'ACTIVE'].includes(generation.status);
  if (isKept && lacksIndex(generation)) {
    const isSettled = await ensureIndex(handles, generation);
    if (!isSettled) return generation.status;
  }
  if (generation.status !== 'BUILDING') return generation.status;
  if (generation.is_embedded) await analyzeChunks(db);
  await finishGeneration(db, id);
  return (await readGeneration(db, id))?.status ?? generation.status;
}

function lacksIndex({ has_index, dimensions }: Generation): boolean {
  return !has_index && isIndexed(dimensions);
}

/** False when somebody else is building it. Without an index a search compares every vector. */
async function ensureIndex(handles: BatchHandles, generation: Generation): Promise<boolean> {
  const { db } = handles;
  const [row] = await db.query<{ chunks: number }>(
    {
      name: 'count_embedding_chunks',
      text: 'SELECT count(*)::int AS chunks FROM embedding_chunks WHERE generation_id = $1::int',
    },
    [generation.id],
    { timeoutMs: LEASE_MS },
  );
  if (!row?.chunks) return true;
  return buildIndex(handles, generation, row.chunks);
}

async function buildIndex(
  { db, log }: BatchHandles,
  generation: Generation,
  chunks: number,
): Promise<boolean> {
  try {
    return await buildVectorIndex(db, generation, chunks);
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.error('the index of an embedding generation could not be built', {
      generation_id: generation.id,
      error,
    });
    return true;
  }
}
