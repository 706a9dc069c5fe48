import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { openEmbedder } from '../search/embedders/open-embedder.ts';
import { readEmbeddingStatus } from '../search/embedding-status.ts';
import { activateGeneration, pruneGenerations, startGeneration } from '../search/generations.ts';
import { processBatches } from '../search/process-batch.ts';
import { requireVectors } from '../search/vector-storage.ts';
import { sendData } from './answers.ts';
import type { ObservatoryHandles } from './handles.ts';
import {
  activateRoute,
  embeddingStatusRoute,
  processBatchRoute,
  pruneRoute,
  switchModelRoute,
} from './routes/embeddings.ts';

/** Everything below /embeddings. */
export const embeddingsEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(embeddingStatusRoute, async (_input, { db }: ObservatoryHandles, c) =>
    sendData(c, 'Read the status of embeddings', await readEmbeddingStatus(db)),
  ),
  endpoint(switchModelRoute, async ({ body }, { db, gateway }: ObservatoryHandles, c) => {
    await requireVectors(db);
    const keys = () => gateway.credentials.resolveKeys(c.get('user'));
    const model = await gateway.registry.requireEmbeddingModel(body.model_id, keys);
    const { id, jobs } = await startGeneration(db, model);
    const message = `Generation ${id} has ${jobs} jobs: do them with /embeddings/process-batch`;
    return sendData(c, 'Started a generation', {
      generation_id: id,
      model_id: model.id,
      status: 'BUILDING',
      total_jobs_enqueued: jobs,
      message,
    });
  }),
  endpoint(processBatchRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { db, gateway, config } = handles;
    await requireVectors(db);
    const keys = () => gateway.credentials.resolveKeys(c.get('user'));
    const report = await processBatches(
      {
        ...handles,
        openEmbedder: (generation) => openEmbedder(generation, { client: gateway.client, keys }),
      },
      {
        generationId: body.generation_id,
        batchSize: body.batch_size,
        maxBatches: body.max_batches,
        budgetMs: config.EMBEDDING_BATCH_TIME_BUDGET_SECONDS * 1_000,
      },
    );
    return sendData(c, 'Processed jobs', report);
  }),
  endpoint(activateRoute, async ({ query }, { db }: ObservatoryHandles, c) => {
    await requireVectors(db);
    const id = query.generation_id;
    const retired = await activateGeneration(db, id);
    return sendData(c, 'Activated the generation', {
      generation_id: id,
      status: 'ACTIVE',
      retired_generation_ids: retired,
    });
  }),
  endpoint(pruneRoute, async (_input, { db }: ObservatoryHandles, c) => {
    await requireVectors(db);
    return sendData(c, 'Pruned generations', await pruneGenerations(db));
  }),
];
