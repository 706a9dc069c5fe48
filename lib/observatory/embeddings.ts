import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { openEmbedder } from '../search/embedders/open-embedder.ts';
import { readEmbeddingStatus } from '../search/embedding-status.ts';
import { activateGeneration, pruneGenerations, startGeneration } from '../search/generations.ts';
import { processBatches } from '../search/process-batch.ts';
import { requireVectors } from '../search/vector-storage.ts';
import { observatoryRoute, refused, sendData, wrapped } from './answers.ts';
import { integerQuery } from './input.ts';
import type { ObservatoryDeps } from './observatory-deps.ts';

const common = { ...observatoryRoute, tag: 'Embeddings', access: 'user' } as const;

/** The largest id that the database can hold. */
const LARGEST_ID = 2_147_483_647;

const status = z.enum(['BUILDING', 'READY', 'ACTIVE', 'RETIRED', 'FAILED']);
const percentage = z.number().min(0).max(100);
const noVectors = refused(
  'The database has no vector extension (the message says why), or is away.',
);

const generation = z
  .object({
    id: z.int(),
    model_id: z.string(),
    status: status,
    dimensions: z.int(),
    chunk_count: z.int(),
  })
  .meta({ id: 'EmbeddingGeneration' });

/** Everything below /embeddings. */
export const embeddingsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/embeddings/status',
      summary: 'Read which generation searches use and how far the next one is',
      responses: {
        200: wrapped(
          'The status.',
          z
            .object({
              active_generation: generation.nullable(),
              progress: z
                .object({
                  total: z.int(),
                  processed: z.int(),
                  failed: z.int(),
                  percentage: percentage,
                })
                .meta({
                  description:
                    'Jobs of the generation that is being built, else of the active one.',
                }),
              pending_jobs: z
                .int()
                .meta({ description: 'Jobs of that generation still to be done.' }),
              failed_jobs: z.int(),
            })
            .meta({ id: 'EmbeddingStatus' }),
        ),
      },
    },
    async (_input, { db }: ObservatoryDeps, c) =>
      sendData(c, 'Read the status of embeddings', await readEmbeddingStatus(db)),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/embeddings/switch-model',
      summary: 'Start a generation with an embedding model: a job for every record there is',
      description: 'Searches go on with the active generation until another one is activated.',
      body: {
        encoding: 'json',
        schema: z
          .object({ model_id: z.string().min(1).max(256).meta({ example: 'local/hashing-384' }) })
          .meta({ id: 'SwitchModel' }),
      },
      responses: {
        200: wrapped(
          'The generation.',
          z
            .object({
              generation_id: z.int(),
              model_id: z.string(),
              status: z.literal('BUILDING'),
              total_jobs_enqueued: z.int(),
              message: z.string(),
            })
            .meta({ id: 'SwitchedModel' }),
        ),
        400: refused(
          'The model is not one of the registry (MODEL_NOT_ALLOWED), or malformed input.',
        ),
        409: refused('Another generation is being built.'),
        503: refused(
          'No vector extension, no list of models (MODEL_REGISTRY_UNAVAILABLE), no database.',
        ),
      },
    },
    async ({ body }, { db, gateway }: ObservatoryDeps, c) => {
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
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/embeddings/process-batch',
      summary: 'Do the next jobs of a generation',
      description:
        'Several callers may do so at once. With a gateway model your connected key is used, else the server’s.',
      body: {
        encoding: 'json',
        schema: z
          .object({
            generation_id: z.int().min(1).max(LARGEST_ID),
            batch_size: z.int().min(1).max(500).default(50),
            max_batches: z.int().min(1).max(50).default(1),
          })
          .meta({ id: 'ProcessBatch' }),
      },
      responses: {
        200: wrapped(
          'What was done; the counts are jobs.',
          z
            .object({
              processed: z.int(),
              succeeded: z.int(),
              failed: z.int(),
              batches: z.int(),
              generation_status: status,
            })
            .meta({ id: 'ProcessedBatch' }),
        ),
        400: refused('There is no such generation, or malformed input.'),
        402: refused('The gateway is out of credits (GATEWAY_OUT_OF_CREDITS).'),
        403: refused('The gateway refused your key (GATEWAY_KEY_INVALID).'),
        429: refused('The gateway (GATEWAY_RATE_LIMITED) or this service limits the rate.'),
        502: refused('The gateway does not answer, or refused the server’s keys.'),
        503: refused(
          'No vector extension, no key for the gateway (GATEWAY_NOT_CONFIGURED), no database.',
        ),
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { db, gateway, config } = deps;
      await requireVectors(db);
      const keys = () => gateway.credentials.resolveKeys(c.get('user'));
      const report = await processBatches(
        {
          ...deps,
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
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/embeddings/activate',
      summary: 'Let searches use a generation',
      query: z.object({
        generation_id: integerQuery(
          1,
          Number.MAX_SAFE_INTEGER,
          'Id of a generation that is READY.',
        ),
      }),
      responses: {
        200: wrapped(
          'It is in use, from one moment to the next.',
          z
            .object({
              generation_id: z.int(),
              status: z.literal('ACTIVE'),
              retired_generation_ids: z.array(z.int()),
            })
            .meta({ id: 'ActivatedGeneration' }),
        ),
        404: refused('There is no such generation.'),
        409: refused('It is not READY.'),
        503: noVectors,
      },
    },
    async ({ query }, { db }: ObservatoryDeps, c) => {
      await requireVectors(db);
      const id = query.generation_id;
      const retired = await activateGeneration(db, id);
      return sendData(c, 'Activated the generation', {
        generation_id: id,
        status: 'ACTIVE',
        retired_generation_ids: retired,
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/embeddings/prune',
      summary: 'Delete the generations that are RETIRED or FAILED',
      responses: {
        200: wrapped(
          'They are gone with their jobs and chunks.',
          z
            .object({ deleted_generations: z.int(), deleted_jobs: z.int() })
            .meta({ id: 'PrunedGenerations' }),
        ),
        503: noVectors,
      },
    },
    async (_input, { db }: ObservatoryDeps, c) => {
      await requireVectors(db);
      return sendData(c, 'Pruned generations', await pruneGenerations(db));
    },
  ),
];
