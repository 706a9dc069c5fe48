import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { readActiveModelId } from '../records/active-embedding-model.ts';
import { observatoryRoute, refused } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const common = { ...observatoryRoute, method: 'get', tag: 'Models', access: 'user' } as const;

const model = z
  .object({
    id: z.string(),
    name: z.string(),
    context_length: z.int().meta({ description: 'Tokens; 0 if the gateway does not say.' }),
    is_free: z.boolean(),
  })
  .meta({ id: 'Model' });
const embeddingModel = z
  .object({
    id: z.string(),
    name: z.string(),
    context_length: z.int(),
    dimensions: z.int().meta({ description: 'Length of its vectors.' }),
    is_free: z.boolean(),
  })
  .meta({ id: 'EmbeddingModel' });

const cached = z.boolean().meta({ description: 'Whether the list comes from the cache.' });

/** GET /api/embedding-models and /api/reranking-models. */
export const modelsEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/embedding-models',
      summary: 'List the embedding models that may be used',
      description:
        'The built-in model and the free models of the gateway. Only the built-in model while the gateway does not answer.',
      responses: {
        200: {
          description: 'The models.',
          schema: z.object({
            models: z.array(embeddingModel),
            cached,
            active_model_id: z.string().nullable().meta({
              description: 'The model that search uses; null if no generation is active.',
            }),
          }),
        },
      },
    },
    async (_input, { gateway, db }: ObservatoryDeps, c) => {
      const keys = () => gateway.credentials.resolveKeys(c.get('user'));
      const [{ models, cached }, activeModelId] = await Promise.all([
        gateway.registry.listEmbeddingModels(keys),
        readActiveModelId(db),
      ]);
      return c.json({ models, cached, active_model_id: activeModelId });
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/reranking-models',
      summary: 'List the free reranking models of the gateway',
      responses: {
        200: {
          description: 'The models.',
          schema: z.object({ models: z.array(model), cached }),
        },
        503: refused(
          'The gateway cannot be read (MODEL_REGISTRY_UNAVAILABLE), or the database is unavailable.',
        ),
      },
    },
    async (_input, { gateway }: ObservatoryDeps, c) =>
      c.json(await gateway.registry.listRerankingModels()),
  ),
];
