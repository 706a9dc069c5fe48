import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { readActiveModelId } from '../records/active-model.ts';
import type { ObservatoryHandles } from './handles.ts';
import { embeddingModelsRoute, rerankingModelsRoute } from './routes/models.ts';

/** GET /api/embedding-models and /api/reranking-models. */
export const modelsEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(embeddingModelsRoute, async (_input, { gateway, db }: ObservatoryHandles, c) => {
    const keys = () => gateway.credentials.resolveKeys(c.get('user'));
    const [{ models, cached }, activeModelId] = await Promise.all([
      gateway.registry.listEmbeddingModels(keys),
      readActiveModelId(db),
    ]);
    return c.json({ models, cached, active_model_id: activeModelId });
  }),
  endpoint(rerankingModelsRoute, async (_input, { gateway }: ObservatoryHandles, c) =>
    c.json(await gateway.registry.listRerankingModels()),
  ),
];
