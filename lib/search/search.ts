import type { GatewayClient } from '../gateway/client.ts';
import type { ResolveKeys } from '../gateway/registry.ts';
import type { Database } from '../platform/database/database.ts';
import type { Log } from '../platform/log.ts';
import type { Redactor } from '../platform/redaction.ts';
import { type FoundSource, type FoundSources, findSources } from './found-sources.ts';
import { parseQuery } from './query.ts';
import { embedQuery, guessActiveModel, noteActiveModel } from './query-vector.ts';
import { MOST_RERANKED, rerank } from './rerank.ts';
import type { SourceType } from './source-types.ts';

/** What a search works with. */
export interface SearchHandles {
  db: Database;
  log: Log;
  /** Everything that is found, and what is sent to the gateway, goes through it. */
  redactor: Redactor;
  client: GatewayClient;
  /** The gateway keys of whoever asks; called only when the gateway is needed. */
  resolveKeys: ResolveKeys;
}

export interface SearchRequest {
  query: string;
  sourceTypes: readonly SourceType[];
  /** How many results, at most 50. */
  limit: number;
  /** Weights of the two rankings, at least 0. */
  ftsWeight: number;
  semanticWeight: number;
  /** A reranking model that may be used, null for none. */
  rerankModel: string | null;
  /** Investigations of this user only; null for those of all users. */
  investigationsOf: string | null;
  signal?: AbortSignal;
}

/** Spec 2, Search result. */
export interface SearchResult {
  id: number;
  source_type: SourceType;
  source_id: string;
  content: string;
  score: number;
  metadata: Record<string, unknown>;
  reranked: boolean;
}

export interface SearchOutcome {
  /** Best first. */
  results: SearchResult[];
  /** The generation whose vectors took part, and its model; null when none did. */
  generation_id: number | null;
  model_id: string | null;
  /** How many results there are. */
  total: number;
  /** Why vectors or reranking did not take part, though they were asked for; else null. */
  degraded_reason: string | null;
}

/**
 * Hybrid search: full text over live rows and chunks, vectors of the ACTIVE generation, fused by rank, one
 * round trip to the database; then the best 50 reranked, where that is asked for. What cannot take part is
 * left out and said in `degraded_reason`. Throws the failures of a user's own gateway key
 * (GATEWAY_KEY_INVALID, GATEWAY_OUT_OF_CREDITS, GATEWAY_RATE_LIMITED) and SERVICE_UNAVAILABLE.
 */
export async function search(
  handles: SearchHandles,
  request: SearchRequest,
): Promise<SearchOutcome> {
  const { redactor } = handles;
  const { limit, rerankModel, signal } = request;
  const { found, reasons } = await findWithVectors(handles, request);
  let results = found.sources.map((source) => toResult(source, redactor));

  if (rerankModel !== null && results.length > 0) {
    const query = redactor.text(request.query);
    const answer = await rerank({ ...handles, signal }, rerankModel, query, results);
    if (answer.failure !== null) reasons.push(`reranking failed: ${answer.failure}`);
    results = answer.results;
  }
  results = results.slice(0, limit);
  return {
    results,
    generation_id: found.generationId,
    model_id: found.generationId === null ? null : (found.active?.id ?? null),
    total: results.length,
    degraded_reason: reasons.length === 0 ? null : reasons.join('; '),
  };
}

/** The fields in the order of spec 2, without secrets. */
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
 * Embeds the query with the model that was active last and asks the database once. Only when a generation
 * of another model has become active meanwhile, it embeds with that one and asks again.
 */
async function findWithVectors(
  handles: SearchHandles,
  request: SearchRequest,
): Promise<{ found: FoundSources; reasons: string[] }> {
  const { db } = handles;
  const { alternatives, wanted } = parseQuery(request.query);
  const limit = request.rerankModel === null ? request.limit : MOST_RERANKED;
  const query = { ...request, limit, alternatives };
  if (request.semanticWeight === 0 || wanted === '') {
    return { found: await findSources(db, { ...query, vector: null }), reasons: [] };
  }

  const gateway = { ...handles, signal: request.signal };
  const text = handles.redactor.text(wanted);
  const guess = guessActiveModel(db);
  let embedded = await embedQuery(gateway, guess, text);
  let found = await findSources(db, { ...query, vector: embedded.value });
  const { active } = found;
  if (active === null || !found.hasVectorColumn) return { found, reasons: [whyNone(found)] };
  if (active.id !== guess.id || active.dimensions !== guess.dimensions) {
    noteActiveModel(db, active);
    embedded = await embedQuery(gateway, active, text);
    if (embedded.value !== null)
      found = await findSources(db, { ...query, vector: embedded.value });
  }
  if (embedded.fatal !== null) throw embedded.fatal;
  if (found.generationId !== null) return { found, reasons: [] };
  const why = embedded.failure ?? 'another generation has just become active';
  return { found, reasons: [`the query could not be embedded: ${why}`] };
}

function whyNone({ hasVectorColumn }: FoundSources): string {
  return hasVectorColumn
    ? 'no embedding generation is active'
    : 'the database has no vector extension';
}
