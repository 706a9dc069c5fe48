import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused, wrapped } from '../declare.ts';
import { integerQuery } from '../input.ts';

const common = { tag: 'Embeddings', access: 'user' } as const;

/** The largest id that the database can hold. */
const LARGEST_ID = 2_147_483_647;

const status = memoize(() => z.enum(['BUILDING', 'READY', 'ACTIVE', 'RETIRED', 'FAILED']));
const percentage = memoize(() => z.number().min(0).max(100));
const noVectors = memoize(() =>
  refused('The database has no vector extension (the message says why), or is away.'),
);

const generation = memoize(() =>
  z
    .object({
      id: z.int(),
      model_id: z.string(),
      status: status(),
      dimensions: z.int(),
      chunk_count: z.int(),
    })
    .meta({ id: 'EmbeddingGeneration' }),
);

/** GET /embeddings/status. */
export const embeddingStatusRoute = declareRoute({
  ...common,
  method: 'get',
  path: '/embeddings/status',
  summary: 'Read which generation searches use and how far the next one is',
  responses: () => ({
    200: wrapped(
      'The status.',
      z
        .object({
          active_generation: generation().nullable(),
          progress: z
            .object({
              total: z.int(),
              processed: z.int(),
              failed: z.int(),
              percentage: percentage(),
            })
            .meta({
              description: 'Jobs of the generation that is being built, else of the active one.',
            }),
          pending_jobs: z.int().meta({ description: 'Jobs of that generation still to be done.' }),
          failed_jobs: z.int(),
        })
        .meta({ id: 'EmbeddingStatus' }),
    ),
  }),
});

/** POST /embeddings/switch-model. */
export const switchModelRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/embeddings/switch-model',
  summary: 'Start a generation with an embedding model: a job for every record there is',
  description: 'Searches go on with the active generation until another one is activated.',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({ model_id: z.string().min(1).max(256).meta({ example: 'local/hashing-384' }) })
        .meta({ id: 'SwitchModel' }),
    ),
  },
  responses: () => ({
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
    400: refused('The model is not one of the registry (MODEL_NOT_ALLOWED), or malformed input.'),
    409: refused('Another generation is being built.'),
    503: refused(
      'No vector extension, no list of models (MODEL_REGISTRY_UNAVAILABLE), no database.',
    ),
  }),
});

/** POST /embeddings/process-batch. */
export const processBatchRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/embeddings/process-batch',
  summary: 'Do the next jobs of a generation',
  description:
    'Several callers may do so at once. With a gateway model your connected key is used, else the server’s.',
  body: {
    encoding: 'json',
    schema: memoize(() =>
      z
        .object({
          generation_id: z.int().min(1).max(LARGEST_ID),
          batch_size: z.int().min(1).max(500).default(50),
          max_batches: z.int().min(1).max(50).default(1),
        })
        .meta({ id: 'ProcessBatch' }),
    ),
  },
  responses: () => ({
    200: wrapped(
      'What was done; the counts are jobs.',
      z
        .object({
          processed: z.int(),
          succeeded: z.int(),
          failed: z.int(),
          batches: z.int(),
          generation_status: status(),
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
  }),
});

/** POST /embeddings/activate. */
export const activateRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/embeddings/activate',
  summary: 'Let searches use a generation',
  query: memoize(() =>
    z.object({
      generation_id: integerQuery(1, Number.MAX_SAFE_INTEGER, 'Id of a generation that is READY.'),
    }),
  ),
  responses: () => ({
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
    503: noVectors(),
  }),
});

/** POST /embeddings/prune. */
export const pruneRoute = declareRoute({
  ...common,
  method: 'post',
  path: '/embeddings/prune',
  summary: 'Delete the generations that are RETIRED or FAILED',
  responses: () => ({
    200: wrapped(
      'They are gone with their jobs and chunks.',
      z
        .object({ deleted_generations: z.int(), deleted_jobs: z.int() })
        .meta({ id: 'PrunedGenerations' }),
    ),
    503: noVectors(),
  }),
});
