import * as z from 'zod';
import { malformed } from './gateway-failure.ts';
import type { KeyRing } from './keys.ts';
import type { GatewayTransport } from './transport.ts';

/** Texts to embed. */
export interface EmbedRequest {
  model: string;
  texts: readonly string[];
  keys: KeyRing;
  signal?: AbortSignal;
}

/** Documents to rank by relevance to a query. */
export interface RerankRequest {
  model: string;
  query: string;
  documents: readonly string[];
  /** How many of the best to return. */
  topN: number;
  keys: KeyRing;
  signal?: AbortSignal;
}

/** `index` is the document's place in the request. */
export interface RankedDocument {
  index: number;
  relevance_score: number;
}

/**
 * Embedding and reranking through the gateway; chat uses the transport directly. Throws GATEWAY_… errors, or
 * the signal's reason.
 */
export interface GatewayClient {
  /** Returns one vector per text, all of the same length, with finite numbers, not normalized. */
  embedTexts(request: EmbedRequest): Promise<number[][]>;
  /** Returns the best documents first, without duplicates. */
  rerankDocuments(request: RerankRequest): Promise<RankedDocument[]>;
}

/** Fits 500 vectors of 4,096 dimensions with all digits. */
const MAX_EMBEDDINGS_BYTES = 64 * 1024 * 1024;
const MAX_DIMENSIONS = 16_000;

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= MAX_DIMENSIONS &&
  value.every((item) => typeof item === 'number' && Number.isFinite(item));

const embeddings = z.object({
  data: z.array(
    z.object({ index: z.int().min(0).optional(), embedding: z.custom<number[]>(isVector) }),
  ),
});
const rankings = z.object({
  results: z.array(z.object({ index: z.int().min(0), relevance_score: z.number() })),
});

export function createGatewayClient(transport: GatewayTransport): GatewayClient {
  return {
    embedTexts({ model, texts, keys, signal }) {
      if (texts.length === 0) return Promise.resolve([]);
      return keys.use(async (key) => {
        const answer = await transport.requestJson({
          method: 'POST',
          to: '/embeddings',
          key,
          body: { model, input: texts, encoding_format: 'float' },
          signal,
          maxBytes: MAX_EMBEDDINGS_BYTES,
        });
        return orderVectors(parse(embeddings, answer).data, texts.length);
      });
    },
    rerankDocuments({ model, query, documents, topN, keys, signal }) {
      if (documents.length === 0) return Promise.resolve([]);
      return keys.use(async (key) => {
        const answer = await transport.requestJson({
          method: 'POST',
          to: '/rerank',
          key,
          body: { model, query, documents, top_n: topN },
          signal,
        });
        const { results } = parse(rankings, answer);
        const indexes = new Set(results.map(({ index }) => index));
        if (
          indexes.size < results.length ||
          results.some(({ index }) => index >= documents.length)
        ) {
          throw malformed('the ranking names a document that was not sent, or one twice');
        }
        return results.sort((a, b) => b.relevance_score - a.relevance_score).slice(0, topN);
      });
    },
  };
}

/** Sorts vectors by the index of their text, or keeps the order when they have no index. */
function orderVectors(
  data: readonly { index?: number | undefined; embedding: number[] }[],
  count: number,
): number[][] {
  const vectors: number[][] = [];
  for (const [position, { index = position, embedding }] of data.entries()) {
    vectors[index] = embedding;
  }
  const isComplete = data.length === count && vectors.length === count;
  // `keys` skips holes, which a duplicate index leaves.
  if (!isComplete || Object.keys(vectors).length !== count) {
    throw malformed('the embeddings do not match the texts');
  }
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) {
    throw malformed('the embeddings have different dimensions');
  }
  return vectors;
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw malformed('the answer has an unexpected shape', parsed.error);
  return parsed.data;
}
