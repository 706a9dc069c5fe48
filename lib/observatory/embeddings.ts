import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { openEmbedder } from '../search/embedders/open-embedder.ts';
import { readEmbeddingStatus } from '../search/embedding-status.ts';
import { activateGeneration, pruneGenerations, startGeneration } from '../search/generations.ts';
import { listGenerations } from '../search/list-generations.ts';
import { processBatches } from '../search/process-batch.ts';
import { requireVectors } from '../search/vector-storage.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import { integerQuery } from './base/input.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const common = { ...observatoryRoute, tag: 'Embeddings', access: 'user' } as const;

/** The largest id in the database. */
const MAX_ID = 2_147_483_647;

const status = z.enum(['BUILDING', 'READY', 'ACTIVE', 'RETIRED', 'FAILED']);
const timestamp = z.iso.datetime({ precision: 6 });
const percentage = z.number().min(0).max(100);
const noVectors = refused(
  'The database has no vector extension (the message says why), or is unavailable.',
);

const generation = z
  .object({
    id: z.int(),
    model_id: z.string(),
    status,
    dimensions: z.int(),
    chunk_count: z.int(),
  })
  .meta({ id: 'EmbeddingGeneration' });

/** The endpoints of /embeddings. */
export const embeddingsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/embeddings/status',
      summary: 'Read the generation that searches use, and the progress of the next',
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
                  percentage,
                })
                .meta({
                  description:
                    'Jobs of the generation that is being built, otherwise of the active one.',
                }),
              pending_jobs: z
                .int()
                .meta({ description: 'Jobs of that generation that are not done yet.' }),
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
      method: 'get',
      path: '/embeddings/generations',
      summary: 'List the generations, newest first',
      responses: {
        200: wrapped(
          'The newest 50.',
          z.array(
            generation
              .omit({ chunk_count: true })
              .extend({
                created_at: timestamp,
                activated_at: timestamp.nullable(),
                failed_jobs: z.int(),
                failure: z
                  .string()
                  .nullable()
                  .meta({ description: 'Why one of its jobs failed; null if none did.' }),
              })
              .meta({ id: 'ListedGeneration' }),
          ),
        ),
      },
    },
    async (_input, { db, redactor }: ObservatoryDeps, c) =>
      sendData(c, 'Read the generations', redactor.value(await listGenerations(db))),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/embeddings/switch-model',
      summary: 'Start a generation with an embedding model, with a job for every record',
      description: 'Searches keep using the active generation until another one is activated.',
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
        400: refused('The model is not allowed (MODEL_NOT_ALLOWED), or malformed input.'),
        409: refused('Another generation is being built.'),
        503: refused(
          'No vector extension, no list of models (MODEL_REGISTRY_UNAVAILABLE), or no database.',
        ),
      },
    },
    async ({ body }, { db, gateway }: ObservatoryDeps, c) => {
      await requireVectors(db);
      const keys = () => gateway.credentials.resolveKeys(c.get('user'));
      const model = await gateway.registry.requireEmbeddingModel(body.model_id, keys);
      const { id, jobs } = await startGeneration(db, model);
      const message = `Generation ${id} has ${jobs} jobs: process them with /embeddings/process-batch`;
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
      summary: 'Process the next jobs of a generation',
      description:
        'Several callers may do this at the same time. Gateway models use your connected key, otherwise the server’s.',
      body: {
        encoding: 'json',
        schema: z
          .object({
            generation_id: z.int().min(1).max(MAX_ID),
            batch_size: z.int().min(1).max(500).default(50),
            max_batches: z.int().min(1).max(50).default(1),
          })
          .meta({ id: 'ProcessBatch' }),
      },
      responses: {
        200: wrapped(
          'The outcome, in jobs.',
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
        400: refused('No such generation, or malformed input.'),
        402: refused('The gateway is out of credits (GATEWAY_OUT_OF_CREDITS).'),
        403: refused('The gateway rejected your key (GATEWAY_KEY_INVALID).'),
        429: refused('The gateway (GATEWAY_RATE_LIMITED) or this service limits the rate.'),
        502: refused('The gateway does not answer, or rejected the server’s keys.'),
        503: refused(
          'No vector extension, no key for the gateway (GATEWAY_NOT_CONFIGURED), or no database.',
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
      summary: 'Make searches use a generation',
      query: z.object({
        generation_id: integerQuery(
          1,
          Number.MAX_SAFE_INTEGER,
          'Id of a generation that is READY.',
        ),
      }),
      responses: {
        200: wrapped(
          'Searches use it now.',
          z
            .object({
              generation_id: z.int(),
              status: z.literal('ACTIVE'),
              retired_generation_ids: z.array(z.int()),
            })
            .meta({ id: 'ActivatedGeneration' }),
        ),
        404: refused('No such generation.'),
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
      summary: 'Delete generations that are RETIRED or FAILED',
      responses: {
        200: wrapped(
          'They were deleted with their jobs and chunks.',
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
