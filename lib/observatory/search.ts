import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { search } from '../search/search.ts';
import { sendData } from './answers.ts';
import type { ObservatoryHandles } from './handles.ts';
import { searchRoute } from './routes/search.ts';

/** POST /search. */
export const searchEndpoints: readonly Endpoint<ObservatoryHandles>[] = [
  endpoint(searchRoute, async ({ body }, handles: ObservatoryHandles, c) => {
    const { db, log, redactor, gateway } = handles;
    const user = c.get('user');
    const rerankModel = body.rerank_model_id ?? null;
    if (rerankModel !== null) await gateway.registry.requireRerankingModel(rerankModel);
    const outcome = await search(
      {
        db,
        log,
        redactor,
        client: gateway.client,
        resolveKeys: () => gateway.credentials.resolveKeys(user),
      },
      {
        query: body.query,
        sourceTypes: body.source_types,
        limit: body.limit,
        ftsWeight: body.fts_weight,
        semanticWeight: body.semantic_weight,
        rerankModel,
        investigationsOf: user,
        signal: c.req.raw.signal,
      },
    );
    const { degraded_reason, ...found } = outcome;
    const degraded = degraded_reason !== null;
    return sendData(c, 'Searched', { ...found, degraded, degraded_reason });
  }),
];
