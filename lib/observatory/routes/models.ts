import { z } from 'zod';
import { memoize } from '../../platform/memoize.ts';
import { declareRoute, refused } from '../declare.ts';

const common = { method: 'get', tag: 'Models', access: 'user' } as const;

const model = memoize(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      context_length: z.int().meta({ description: 'Tokens; 0 when the gateway does not say.' }),
      is_free: z.boolean(),
    })
    .meta({ id: 'Model' }),
);
const embeddingModel = memoize(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      context_length: z.int(),
      dimensions: z.int().meta({ description: 'Length of its vectors.' }),
      is_free: z.boolean(),
    })
    .meta({ id: 'EmbeddingModel' }),
);

const cached = memoize(() =>
  z.boolean().meta({ description: 'The gateway was not asked for this answer.' }),
);

/** GET /api/embedding-models. */
export const embeddingModelsRoute = declareRoute({
  ...common,
  path: '/api/embedding-models',
  summary: 'List the embedding models that may be used',
  description:
    'The built-in model and the free ones of the gateway; the built-in one alone while the gateway does not answer.',
  responses: () => ({
    200: {
      description: 'The models.',
      schema: z.object({
        models: z.array(embeddingModel()),
        cached: cached(),
        active_model_id: z.string().nullable().meta({
          description: 'The model that search uses; null while no generation is active.',
        }),
      }),
    },
  }),
});

/** GET /api/reranking-models. */
export const rerankingModelsRoute = declareRoute({
  ...common,
  path: '/api/reranking-models',
  summary: 'List the free reranking models of the gateway',
  responses: () => ({
    200: {
      description: 'The models.',
      schema: z.object({ models: z.array(model()), cached: cached() }),
    },
    503: refused('The gateway cannot be read (MODEL_REGISTRY_UNAVAILABLE), or no database.'),
  }),
});
