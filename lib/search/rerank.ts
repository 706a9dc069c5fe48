import { askGateway, type CallerGateway } from './ask-gateway.ts';

/** The number of best results to rerank. */
export const MAX_RERANKED = 50;
/** Documents are cut to this many characters. */
const MAX_DOCUMENT_LENGTH = 2_000;

interface Rerankable {
  content: string;
  score: number;
  reranked: boolean;
}

/**
 * Reorders results by a reranking model's scores. Results that the model omits follow in their old order.
 * When the gateway fails, returns the results unchanged with the reason. Throws when the caller's own key
 * failed.
 */
export async function rerank<Result extends Rerankable>(
  gateway: CallerGateway,
  model: string,
  query: string,
  results: readonly Result[],
): Promise<{ results: Result[]; failure: string | null }> {
  const { client, signal } = gateway;
  const documents = results.map(({ content }) => content.slice(0, MAX_DOCUMENT_LENGTH));
  const answer = await askGateway(gateway, (keys) =>
    client.rerankDocuments({
      model,
      query,
      documents,
      topN: documents.length,
      keys,
      ...(signal ? { signal } : {}),
    }),
  );
  if (answer.fatal !== null) throw answer.fatal;
  if (answer.value === null) return { results: [...results], failure: answer.failure };

  const ranked = answer.value.flatMap(({ index, relevance_score }) => {
    const result = results[index];
    return result ? [{ index, result: { ...result, score: relevance_score, reranked: true } }] : [];
  });
  const rankedIndexes = new Set(ranked.map(({ index }) => index));
  const rest = results.filter((_, index) => !rankedIndexes.has(index));
  return { results: [...ranked.map(({ result }) => result), ...rest], failure: null };
}
