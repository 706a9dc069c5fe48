import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Redactor } from '../platform/redaction.ts';
import { type EmbeddingGateway, openEmbedder } from '../search/embedders/open-embedder.ts';
import { readEmbeddingStatus } from '../search/embedding-status.ts';
import {
  abandonGeneration,
  activateGeneration,
  findGeneration,
  type GenerationStatus,
} from '../search/generations.ts';
import { enqueueNewSources } from '../search/new-sources.ts';
import { processBatches } from '../search/process-batch.ts';
import { requireVectors } from '../search/vector-storage.ts';
import type { Display, OutputStream } from './display.ts';
import type { EmbedCommand } from './embed-arguments.ts';

export interface EmbedHandles {
  db: Database;
  clock: Clock;
  log: Log;
  redactor: Redactor;
  display: Display;
  stdout: OutputStream;
  /** Does the display show a bar? Otherwise progress is lines. */
  isTerminal: boolean;
  /** With the keys of whoever runs the worker. */
  gateway: EmbeddingGateway;
  /** Aborts with a RunStopped that says why. */
  signal: AbortSignal;
}

const BATCH_SIZE = 200;
/** Between two looks at the signal, and two steps of a bar or two lines. */
const BUDGET_MS = { bar: 1_000, lines: 10_000 };
/** Others hold what is left, or build the index. */
const WAIT_MS = 5_000;

/**
 * Embeds to the end and returns the exit code. Throws SERVICE_UNAVAILABLE without the vector extension,
 * the gateway's error when it keeps every job from being done, RunStopped when it is interrupted.
 */
export async function runEmbed(handles: EmbedHandles, command: EmbedCommand): Promise<number> {
  const { db, stdout, display } = handles;
  await requireVectors(db);
  if (command.abandon) {
    const id = await abandonGeneration(db);
    stdout.write(
      id === null
        ? 'No generation is being built.\n'
        : `Generation ${id} is FAILED: POST /embeddings/prune deletes it.\n`,
    );
    return 0;
  }
  await enqueueNewSources(db);
  const id =
    (await findGeneration(db, 'BUILDING')) ??
    (command.activate ? await findGeneration(db, 'READY') : null) ??
    (await findGeneration(db, 'ACTIVE'));
  if (id === null) {
    stdout.write('There is no generation: POST /embeddings/switch-model starts one.\n');
    return 0;
  }
  const { status, failed } = await embedAll(handles, id);
  display.clear();
  return finish(handles, command, { id, status, failed });
}

/** Does jobs until none is left, also those that others give up. */
async function embedAll(
  handles: EmbedHandles,
  id: number,
): Promise<{ status: GenerationStatus; failed: number }> {
  const { db, clock, display, signal, gateway, isTerminal } = handles;
  const budgetMs = isTerminal ? BUDGET_MS.bar : BUDGET_MS.lines;
  let { progress } = await readEmbeddingStatus(db, id);
  for (;;) {
    signal.throwIfAborted();
    const report = await processBatches(
      { ...handles, openEmbedder: (generation) => openEmbedder(generation, gateway) },
      { generationId: id, batchSize: BATCH_SIZE, maxBatches: 1_000, budgetMs },
    );
    const status = report.generation_status;
    let isDone = false;
    if (report.batches > 0 && (status === 'BUILDING' || status === 'ACTIVE')) {
      // Counting millions of jobs takes longer than a batch.
      const processed = Math.min(progress.total, progress.processed + report.processed);
      progress = { ...progress, processed, failed: progress.failed + report.failed };
    } else {
      const now = await readEmbeddingStatus(db, id);
      progress = now.progress;
      isDone = now.pending_jobs === 0 && status !== 'BUILDING';
    }
    const { processed, total, failed } = progress;
    const isWaiting = report.batches === 0 && !isDone;
    const doing = isWaiting
      ? 'waiting for others at work on it'
      : `jobs of generation ${id}${failed > 0 ? `, ${failed} failed` : ''}`;
    display.progress(processed, total, doing);
    if (!isTerminal && report.processed > 0) display.line(`${processed} of ${total} ${doing}`);
    if (isDone) return { status, failed };
    if (isWaiting) await clock.sleep(WAIT_MS, signal);
  }
}

async function finish(
  { db, stdout }: EmbedHandles,
  { activate }: EmbedCommand,
  { id, status, failed }: { id: number; status: GenerationStatus; failed: number },
): Promise<number> {
  const but = failed > 0 ? `; ${failed} jobs failed` : '';
  if (status === 'FAILED') {
    throw new AppError('INTERNAL_ERROR', `generation ${id} is FAILED: none of its jobs succeeded`);
  }
  if (status === 'READY' && activate) {
    const retired = await activateGeneration(db, id);
    const before = retired.length > 0 ? `, ${retired.join(', ')} is RETIRED` : '';
    stdout.write(`Generation ${id} is ACTIVE${before}${but}.\n`);
  } else if (status === 'READY') {
    stdout.write(
      `Generation ${id} is READY${but}. Let searches use it with \`npm run worker -- embed --activate\`.\n`,
    );
  } else {
    stdout.write(`Generation ${id} is ${status} and up to date${but}.\n`);
  }
  return 0;
}
