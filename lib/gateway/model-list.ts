import * as z from 'zod';
import { cleanText } from '../text/clean-text.ts';

/** A chat or reranking model, as the API lists it. */
export interface Model {
  id: string;
  name: string;
  /** In tokens; 0 when unknown. */
  context_length: number;
  is_free: boolean;
}

/** An embedding model; dimensions are the length of its vectors. */
export interface EmbeddingModel extends Model {
  dimensions: number;
}

/** An embedding model as the gateway lists it. */
export type ListedEmbeddingModel = Model & { dimensions: number | null };

/** The gateway's models by kind, free and paid. */
export interface GatewayModels {
  embedding: readonly ListedEmbeddingModel[];
  reranking: readonly Model[];
  chat: readonly Model[];
}

const MAX_ENTRIES = 10_000;
const MAX_DIMENSIONS = 16_000;
const MAX_NAME_LENGTH = 400;

const list = z.object({ data: z.array(z.unknown()).max(MAX_ENTRIES) });

const entry = z.object({
  // Without white space and invisible characters.
  id: z.string().regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Z}]{1,200}$/u),
  name: z.string().nullish(),
  context_length: z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
  pricing: z.record(z.string(), z.unknown()).nullish(),
  architecture: z.object({ output_modalities: z.array(z.string()).nullish() }).nullish(),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish().catch(null),
});
type Entry = z.output<typeof entry>;

/**
 * Parses the responses of `/models` and `/embeddings/models`. Skips malformed entries; throws ZodError for a
 * response that is not a list.
 */
export function readModels(models: unknown, embeddingModels: unknown): GatewayModels {
  const embedding = readEntries(embeddingModels);
  const embeddingIds = new Set(embedding.map(({ id }) => id));
  const others = readEntries(models).filter(({ id }) => !embeddingIds.has(id));
  return {
    embedding: embedding.map((it) => ({ ...describe(it), dimensions: it.dimensions ?? null })),
    reranking: others.filter(isReranking).map(describe),
    chat: others.filter((it) => !isReranking(it)).map(describe),
  };
}

/** Parses entries without duplicates; the first entry of an id wins. */
function readEntries(answer: unknown): Entry[] {
  const found = new Map<string, Entry>();
  for (const item of list.parse(answer).data) {
    const parsed = entry.safeParse(item);
    if (parsed.success && !found.has(parsed.data.id)) found.set(parsed.data.id, parsed.data);
  }
  return [...found.values()];
}

const isReranking = ({ architecture }: Entry) =>
  architecture?.output_modalities?.includes('rerank') ?? false;

function describe({ id, name, context_length, pricing }: Entry): Model {
  return {
    id,
    name: cleanText(name ?? '', MAX_NAME_LENGTH) || id,
    context_length: Math.floor(context_length ?? 0),
    is_free: isFree(pricing ?? {}),
  };
}

/** Are all prices zero? Models without prices or with variable prices (-1) are not free. */
function isFree(pricing: Record<string, unknown>): boolean {
  const prices = Object.values(pricing).filter((price) => price !== null);
  return (
    prices.length > 0 && prices.every((price) => price === 0 || /^0+(\.0*)?$/.test(`${price}`))
  );
}
