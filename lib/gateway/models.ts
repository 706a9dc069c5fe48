import { z } from 'zod';
import { cleanText } from '../platform/clean-text.ts';

/** A chat or reranking model (spec 2, Model entry). */
export interface Model {
  id: string;
  name: string;
  /** Tokens; 0 when the gateway does not say. */
  context_length: number;
  is_free: boolean;
}

/** An embedding model; dimensions are the length of its vectors. */
export interface EmbeddingModel extends Model {
  dimensions: number;
}

/** An embedding model as the gateway lists it. */
export type ListedEmbeddingModel = Model & { dimensions: number | null };

/** The gateway's models, each in one of the lists. Paid ones too. */
export interface GatewayModels {
  embedding: readonly ListedEmbeddingModel[];
  reranking: readonly Model[];
  chat: readonly Model[];
}

/** More entries than any gateway has. */
const MAX_ENTRIES = 10_000;
const MAX_DIMENSIONS = 16_000;
const NAME_MAX_LENGTH = 400;

const list = z.object({ data: z.array(z.unknown()).max(MAX_ENTRIES) });

const entry = z.object({
  // Without spaces and without characters that do not show: people read it, and Postgres keeps it.
  id: z.string().regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Z}]{1,200}$/u),
  name: z.string().nullish(),
  context_length: z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
  pricing: z.record(z.string(), z.unknown()).nullish(),
  architecture: z.object({ output_modalities: z.array(z.string()).nullish() }).nullish(),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish().catch(null),
});
type Entry = z.output<typeof entry>;

/**
 * Sorts the answers of `/models` and `/embeddings/models` into lists. An entry that is not one is left
 * out; an answer that is no list throws ZodError. (decisions 5, Gateway wire shapes)
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

/** Each id once; the first entry of an id counts. */
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
    name: cleanText(name ?? '', NAME_MAX_LENGTH) || id,
    context_length: Math.floor(context_length ?? 0),
    is_free: isFree(pricing ?? {}),
  };
}

/** Is every price zero? A model without prices is not free, nor one whose price varies (-1). */
function isFree(pricing: Record<string, unknown>): boolean {
  const prices = Object.values(pricing).filter((price) => price !== null);
  return (
    prices.length > 0 && prices.every((price) => price === 0 || /^0+(\.0*)?$/.test(`${price}`))
  );
}
