import type { Database } from '../database/database.ts';
import type { GatewayClient } from '../gateway/client.ts';
import type { ResolveKeys } from '../gateway/model-registry.ts';
import type { Log } from '../log/log.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { embedQuery, guessActiveModel, noteActiveModel } from './embed-query.ts';
import { type FoundSource, type FoundSources, findSources } from './hybrid-query.ts';
import { explainNothingFound } from './nothing-found.ts';
import { parseQuery } from './parse-query.ts';
import { MAX_RERANKED, rerank } from './rerank.ts';
import type { SourceType } from './source-types.ts';

/** The dependencies of a search. */
export interface SearchDeps {
  db: Database;
  log: Log;
  /** Applied to all results and to everything sent to the gateway. */
  redactor: Redactor;
  client: GatewayClient;
  /** Resolves the caller's gateway keys; called only when the gateway is needed. */
  resolveKeys: ResolveKeys;
}

export interface SearchRequest {
  query: string;
  sourceTypes: readonly SourceType[];
  /** The maximum number of results, up to 50. */
  limit: number;
  /** Weights of the two rankings, not negative. */
  ftsWeight: number;
  semanticWeight: number;
  /** The reranking model; null for no reranking. */
  rerankModel: string | null;
  /** Only investigations of this user; null for all users. */
  investigationsOf: string | null;
  /** The full-text time budget in milliseconds; partial results are returned after it. */
  budgetMs: number;
  signal?: AbortSignal;
}

/**
 * What a search left out:
 *
 * - `no_generation`: vectors, because no embedding generation is active.
 * - `no_extension`: vectors, because the database cannot store them.
 * - `not_embedded`: vectors, because the query could not be embedded.
 * - `not_reranked`: reranking.
 * - `cut_short`: older matches.
 */
export const degradations = [
  'no_generation',
  'no_extension',
  'not_embedded',
  'not_reranked',
  'cut_short',
] as const;

/** What a search left out, and why. */
export interface Degradation {
  kind: (typeof degradations)[number];
  reason: string;
}

/** The reason of a search that was cut short. */
export const CUT_SHORT =
  'the search took too long and was cut short, so older matches may be missing: use fewer or rarer words';

/** A result of POST /search. */
export interface SearchResult extends FoundSource {
  reranked: boolean;
}

export interface SearchOutcome {
  /** Best first. */
  results: SearchResult[];
  /** The generation whose vectors were used, and its model; null when none were. */
  generation_id: number | null;
  model_id: string | null;
  /** The number of results. */
  total: number;
  /**
   * Why requested vectors or reranking were not used, or that the search was cut short; otherwise null.
   */
  degraded_reason: string | null;
  /** The same, one by one. */
  degradations: Degradation[];
  /** Without results: whether there is anything to find, and why the search may have missed it. Otherwise null. */
  nothing_found: string | null;
}

/**
 * Hybrid search: full text over live rows and chunks and vectors of the ACTIVE generation, fused by rank, in
 * one round trip to the database; then reranks the best 50 if requested. Results with all words come first;
 * if there are too few, results with most of the words follow. `degraded_reason` names what could not be
 * used, or that time ran out. Throws failures of a user's own gateway key (GATEWAY_KEY_INVALID,
 * GATEWAY_OUT_OF_CREDITS, GATEWAY_RATE_LIMITED) and SERVICE_UNAVAILABLE.
 */
export async function search(deps: SearchDeps, request: SearchRequest): Promise<SearchOutcome> {
  const { redactor } = deps;
  const { limit, rerankModel, signal } = request;
  const { found, left } = await findWithVectors(deps, request);
  if (found.isCut) left.push({ kind: 'cut_short', reason: CUT_SHORT });
  let results = found.sources.map((source) => toResult(source, redactor));

  if (rerankModel !== null && results.length > 0) {
    const query = redactor.text(request.query);
    const answer = await rerank({ ...deps, signal }, rerankModel, query, results);
    if (answer.failure !== null)
      left.push({ kind: 'not_reranked', reason: `reranking failed: ${answer.failure}` });
    results = answer.results;
  }
  results = results.slice(0, limit);
  const nothing_found = results.length > 0 ? null : await explainNothingFound(deps.db, request);
  return {
    results,
    generation_id: found.generationId,
    model_id: found.generationId === null ? null : (found.active?.id ?? null),
    total: results.length,
    degraded_reason: left.length === 0 ? null : left.map(({ reason }) => reason).join('; '),
    degradations: left,
    nothing_found,
  };
}

/** Redacts a source and orders its fields as in the response. */
function toResult(source: FoundSource, redactor: Redactor): SearchResult {
  const { id, source_type, source_id, content, score, metadata } = source;
  return {
    id,
    source_type,
    source_id,
    content: redactor.text(content),
    score,
    metadata: redactor.value(metadata),
    reranked: false,
  };
}

/**
 * Embeds the query with the model that was active last and queries the database once. Repeats both only if
 * another model has become active.
 */
async function findWithVectors(
  deps: SearchDeps,
  request: SearchRequest,
): Promise<{ found: FoundSources; left: Degradation[] }> {
  const { db } = deps;
  const { alternatives, wanted } = parseQuery(request.query);
  const limit = request.rerankModel === null ? request.limit : MAX_RERANKED;
  const query = { ...request, limit, alternatives };
  if (request.semanticWeight === 0 || wanted === '') {
    return { found: await findSources(db, { ...query, vector: null }), left: [] };
  }

  const gateway = { ...deps, signal: request.signal };
  const text = deps.redactor.text(wanted);
  const guess = guessActiveModel(db);
  let embedded = await embedQuery(gateway, guess, text);
  let found = await findSources(db, { ...query, vector: embedded.value });
  const { active } = found;
  if (active === null || !found.hasVectorColumn) return { found, left: [explainNoVectors(found)] };
  if (active.id !== guess.id || active.dimensions !== guess.dimensions) {
    noteActiveModel(db, active);
    embedded = await embedQuery(gateway, active, text);
    if (embedded.value !== null)
      found = await findSources(db, { ...query, vector: embedded.value });
  }
  if (embedded.fatal !== null) throw embedded.fatal;
  if (found.generationId !== null) return { found, left: [] };
  const why = embedded.failure ?? 'another generation has just become active';
  const reason = `the query could not be embedded: ${why}`;
  return { found, left: [{ kind: 'not_embedded', reason }] };
}

function explainNoVectors({ hasVectorColumn }: FoundSources): Degradation {
  return hasVectorColumn
    ? { kind: 'no_generation', reason: 'no embedding generation is active' }
    : { kind: 'no_extension', reason: 'the database has no vector extension' };
}
