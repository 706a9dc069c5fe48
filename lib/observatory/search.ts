import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { degradations, search } from '../search/search.ts';
import { searchableTypes } from '../search/source-types.ts';
import { observatoryRoute, refused, sendData, wrapped } from './base/answers.ts';
import type { ObservatoryDeps } from './base/observatory-deps.ts';

const weight = z.number().min(0).max(1_000).default(1);

const searchBody = z
  .object({
    query: z
      .string()
      .trim()
      .min(1)
      .max(1_000)
      .meta({ description: 'Words, "a phrase", -excluded, this or that. Any text is safe.' }),
    source_types: z
      .array(z.enum(searchableTypes))
      .min(1)
      .max(searchableTypes.length)
      .default([...searchableTypes])
      .meta({ description: 'What to find; everything by default.' }),
    limit: z.int().min(1).max(50).default(10),
    fts_weight: weight.meta({ description: 'Weight of the ranking by full text.' }),
    semantic_weight: weight.meta({ description: 'Weight of the ranking by vectors.' }),
    rerank_model_id: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .meta({ description: 'A model of /api/reranking-models that reranks the best 50.' }),
  })
  .refine((body) => body.fts_weight > 0 || body.semantic_weight > 0, {
    message: 'must not be 0 together with semantic_weight',
    path: ['fts_weight'],
  })
  .meta({ id: 'SearchRequest' });

const searchResult = z
  .object({
    id: z.int(),
    source_type: z.enum(searchableTypes),
    source_id: z.string(),
    content: z.string(),
    score: z.number(),
    metadata: z.record(z.string(), z.unknown()),
    reranked: z.boolean(),
  })
  .meta({ id: 'SearchResult' });

const searchAnswer = z
  .object({
    results: z.array(searchResult),
    generation_id: z.int().nullable(),
    model_id: z.string().nullable(),
    total: z.int().meta({ description: 'Number of results in this answer.' }),
    degraded: z.boolean(),
    degraded_reason: z.string().nullable().meta({
      description:
        'What was not used in the search, and why; or that it was cut short, so that matches may be missing.',
    }),
    degradations: z
      .array(z.object({ kind: z.enum(degradations), reason: z.string() }))
      .meta({ description: 'The same, one by one.' }),
    nothing_found: z.string().nullable().meta({
      description:
        'Without results: whether anything is recorded, and why the search may have missed it.',
    }),
  })
  .meta({ id: 'SearchAnswer' });

/** POST /search. */
export const searchEndpoints: readonly Endpoint<ObservatoryDeps>[] = [
  endpoint(
    {
      ...observatoryRoute,
      method: 'post',
      path: '/search',
      tag: 'Search',
      access: 'user',
      isReading: true,
      summary: 'Search logs, results and investigations by words and similarity',
      description:
        'Combines full text and the vectors of the active generation by rank. Results with all words come first; if there are too few, results with most of the words follow. The answer is degraded without vectors (full text only), and when the search was cut short after SEARCH_TIME_BUDGET_SECONDS. Investigations are answers of the chat; only your own are found.',
      body: { encoding: 'json', schema: searchBody },
      responses: {
        200: wrapped('The results, best first.', searchAnswer),
        400: refused(
          'Malformed input, or MODEL_NOT_ALLOWED for a reranking model that is not free.',
        ),
        402: refused('Your own gateway key is out of credits (GATEWAY_OUT_OF_CREDITS).'),
        403: refused('The gateway refused your own key (GATEWAY_KEY_INVALID).'),
        429: refused('Too many requests, or GATEWAY_RATE_LIMITED for your own key.'),
        503: refused('The database is unavailable, or MODEL_REGISTRY_UNAVAILABLE.'),
      },
    },
    async ({ body }, deps: ObservatoryDeps, c) => {
      const { config, db, log, redactor, gateway } = deps;
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
          budgetMs: config.SEARCH_TIME_BUDGET_SECONDS * 1_000,
          signal: c.req.raw.signal,
        },
      );
      const { degraded_reason, degradations: left, nothing_found, ...found } = outcome;
      const degraded = degraded_reason !== null;
      return sendData(c, 'Searched', {
        ...{ ...found, degraded, degraded_reason },
        ...{ degradations: left, nothing_found },
      });
    },
  ),
];
