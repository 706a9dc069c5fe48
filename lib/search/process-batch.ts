import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { embedJobs, prepareJob } from './embed-batch.ts';
import type { Embedder } from './embedders/embedder.ts';
import {
  claimJobs,
  type JobOutcome,
  LEASE_MS,
  type Lease,
  releaseJobs,
  storeOutcomes,
} from './embedding-jobs.ts';
import {
  finishGeneration,
  type Generation,
  type GenerationStatus,
  readGeneration,
} from './generations.ts';
import { analyzeChunks, buildVectorIndex, isIndexed } from './vector-index.ts';

export interface BatchDeps {
  db: Database;
  clock: Clock;
  log: Log;
  redactor: Redactor;
  /** Opens the embedder of a generation's model with the caller's keys; called only when there is work. */
  openEmbedder(generation: Generation): Promise<Embedder>;
}

export interface BatchRequest {
  generationId: number;
  batchSize: number;
  maxBatches: number;
  /** No further work is started after this many milliseconds. */
  budgetMs: number;
}

/** The response of process-batch, with counts of jobs. */
export interface BatchReport {
  processed: number;
  succeeded: number;
  failed: number;
  batches: number;
  generation_status: GenerationStatus;
}

/** No group of jobs is started with less than this left of the lease. */
const LEASE_RESERVE_MS = 90_000;

/**
 * How many chunks one statement stores. In the embedded database each takes milliseconds to index, and
 * other statements have to wait.
 */
const MAX_STORED_CHUNKS = { embedded: 8, server: 256 };

/**
 * Processes up to `maxBatches` batches of a generation's jobs, and finishes the generation when none are
 * left. Safe for concurrent callers, each of which may be killed at any time. Throws BAD_REQUEST for an
 * unknown generation, and the gateway's error when no job could be processed.
 */
export async function processBatches(deps: BatchDeps, request: BatchRequest): Promise<BatchReport> {
  const { db, clock, log } = deps;
  const generation = await readGeneration(db, request.generationId);
  if (!generation) {
    throw new AppError('BAD_REQUEST', `generation ${request.generationId} does not exist`);
  }
  const counts = { processed: 0, succeeded: 0, failed: 0, batches: 0 };
  if (generation.has_open_jobs && isProcessed(generation)) {
    const embedder = await deps.openEmbedder(generation);
    const maxStoredChunks = MAX_STORED_CHUNKS[generation.is_embedded ? 'embedded' : 'server'];
    // Building it at the end would block the embedded database for minutes.
    if (generation.is_embedded && lacksIndex(generation)) await buildIndex(deps, generation, 0);
    const deadline = clock.now() + request.budgetMs;
    try {
      while (counts.batches < request.maxBatches) {
        const hasWork = await processBatch(
          deps,
          embedder,
          { ...request, deadline, maxStoredChunks },
          counts,
        );
        if (!hasWork || clock.now() >= deadline) break;
      }
    } catch (error) {
      // Report what was done; the next call will hit the failure again.
      if (counts.processed === 0) throw error;
      log.warn('process-batch stopped early', { generation_id: generation.id, error });
    }
  }
  const generation_status = await settle(deps, generation.id);
  return { ...counts, generation_status };
}

function isProcessed({ status }: Generation): boolean {
  return status === 'BUILDING' || status === 'ACTIVE';
}

type Counts = Omit<BatchReport, 'generation_status'>;

/** Processes one batch. Returns false when there was nothing to claim. */
async function processBatch(
  { db, clock, redactor }: BatchDeps,
  embedder: Embedder,
  {
    generationId,
    batchSize,
    deadline,
    maxStoredChunks,
  }: BatchRequest & { deadline: number; maxStoredChunks: number },
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
        const some = takeGroup(outcomes, maxStoredChunks, (outcome) => outcome, countChunks);
        const { succeeded, failed } = await storeOutcomes(db, lease.holder, some);
        outcomes.splice(0, some.length);
        done += some.length;
        counts.succeeded += succeeded;
        counts.failed += failed;
        counts.processed += succeeded + failed;
        // The built-in model never waits for I/O, so let other work proceed.
        await yieldToEventLoop();
      }
    }
  } finally {
    await releaseJobs(db, lease.holder, claimed.slice(done));
  }
  return true;
}

const countChunks = (outcome: JobOutcome) => ('chunks' in outcome ? outcome.chunks.length : 0);

/** Prepares the first items that have at most `maxChunks` chunks in total, and at least one item. */
function takeGroup<Item, Prepared>(
  items: readonly Item[],
  maxChunks: number,
  prepare: (item: Item) => Prepared,
  count: (prepared: Prepared) => number,
): Prepared[] {
  const group: Prepared[] = [];
  let chunks = 0;
  for (const item of items) {
    const prepared = prepare(item);
    chunks += count(prepared);
    if (group.length > 0 && chunks > maxChunks) break;
    group.push(prepared);
  }
  return group;
}

/**
 * Finishes a generation without open jobs: builds its index and changes BUILDING to READY or FAILED. While
 * another caller builds its index it stays BUILDING. Returns its status.
 */
async function settle(deps: BatchDeps, id: number): Promise<GenerationStatus> {
  const { db } = deps;
  const generation = await readGeneration(db, id);
  if (!generation) throw new AppError('BAD_REQUEST', `generation ${id} does not exist`);
  if (generation.has_open_jobs) return generation.status;
  const isKept = ['BUILDING', 'READY', 'ACTIVE'].includes(generation.status);
  if (isKept && lacksIndex(generation)) {
    const isSettled = await ensureIndex(deps, generation);
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

/** Returns false when another caller is building it. Without an index, searches compare every vector. */
async function ensureIndex(deps: BatchDeps, generation: Generation): Promise<boolean> {
  const { db } = deps;
  const [row] = await db.query<{ chunks: number }>(
    {
      name: 'count_embedding_chunks',
      text: 'SELECT count(*)::int AS chunks FROM embedding_chunks WHERE generation_id = $1::int',
    },
    [generation.id],
    { timeoutMs: LEASE_MS },
  );
  if (!row?.chunks) return true;
  return buildIndex(deps, generation, row.chunks);
}

async function buildIndex(
  { db, log }: BatchDeps,
  generation: Generation,
  chunks: number,
): Promise<boolean> {
  try {
    return await buildVectorIndex(db, generation, chunks);
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.error('could not build the index of an embedding generation', {
      generation_id: generation.id,
      error,
    });
    return true;
  }
}
