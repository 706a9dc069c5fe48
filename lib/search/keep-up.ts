import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import type { Log } from '../platform/log.ts';
import type { Redactor } from '../platform/redaction.ts';
import { hashingEmbedder } from './embedders/embedder.ts';
import { hashingModel } from './embedders/hashing.ts';
import { enqueueNewSources } from './new-sources.ts';
import { processBatches } from './process-batch.ts';

export interface KeepUpHandles {
  db: Database;
  clock: Clock;
  log: Log;
  redactor: Redactor;
}

const BATCH_SIZE = 200;
/** A sweep is a guest: what it does not get done waits for the next one. */
const BUDGET_MS = 10_000;

/**
 * Keeps the ACTIVE generation up to date: enqueues the records that are new, once, and embeds what is
 * pending where the built-in model does it. A gateway model takes somebody's keys, so its jobs wait for
 * process-batch. Returns how many jobs were made.
 */
export async function keepUpWithSources(handles: KeepUpHandles): Promise<number> {
  const { db, log } = handles;
  const enqueued = await enqueueNewSources(db);
  const generationId = await findBuiltInGeneration(db);
  if (generationId !== null) {
    const report = await processBatches(
      { ...handles, openEmbedder: async () => hashingEmbedder },
      { generationId, batchSize: BATCH_SIZE, maxBatches: 1_000, budgetMs: BUDGET_MS },
    );
    if (report.processed > 0) log.debug('new records were embedded', { ...report });
  }
  return enqueued;
}

/** The ACTIVE generation when it has work for the built-in model. */
async function findBuiltInGeneration(db: Database): Promise<number | null> {
  const [row] = await db.query<{ id: number }>(
    {
      name: 'find_built_in_embedding_generation',
      text: `SELECT id FROM embedding_generations AS generation
        WHERE status = 'ACTIVE' AND model_id = $1 AND EXISTS (
          SELECT FROM embedding_jobs AS job
          WHERE job.generation_id = generation.id AND job.status IN ('pending', 'processing')
        )`,
    },
    [hashingModel.id],
  );
  return row?.id ?? null;
}
