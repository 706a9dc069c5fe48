import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log/log.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { hashingEmbedder } from './embedders/embedder.ts';
import { hashingModel } from './embedders/hashing.ts';
import { enqueueNewSources } from './enqueue-new-sources.ts';
import { processBatches } from './process-batch.ts';

export interface UpdateDeps {
  db: Database;
  clock: Clock;
  log: Log;
  redactor: Redactor;
}

const BATCH_SIZE = 200;
/** Jobs left after this time wait for the next sweep. */
const BUDGET_MS = 10_000;

/**
 * Updates the ACTIVE generation: enqueues new records and, with the built-in model, embeds what is pending.
 * A gateway model needs a caller's keys, so its jobs wait for process-batch. Returns the number of new jobs.
 */
export async function updateActiveGeneration(deps: UpdateDeps): Promise<number> {
  const { db, log } = deps;
  const enqueued = await enqueueNewSources(db);
  const generationId = await findBuiltInGeneration(db);
  if (generationId !== null) {
    const report = await processBatches(
      { ...deps, openEmbedder: async () => hashingEmbedder },
      { generationId, batchSize: BATCH_SIZE, maxBatches: 1_000, budgetMs: BUDGET_MS },
    );
    if (report.processed > 0) log.debug('new records were embedded', { ...report });
  }
  return enqueued;
}

/** The ACTIVE generation, if it uses the built-in model and has open jobs. */
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
