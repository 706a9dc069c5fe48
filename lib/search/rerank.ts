import { askGateway, type CallersGateway } from './gateway-failures.ts';

/** How many of the best are sent to be reranked (spec 2, What the service does; decisions 5). */
export const MOST_RERANKED = 50;
/** A reranking model reads the beginning of a document; what is sent has a bound. Characters. */
const LONGEST_DOCUMENT = 2_000;

interface Rerankable {
  content: string;
  score: number;
  reranked: boolean;
}

/**
 * Orders results by a reranking model's scores, which become theirs; those that the model leaves out keep
 * their order behind. When the gateway fails the results come back as they were, with the reason. Throws
 * the failure of the caller's own key.
 */
export async function rerank<Result extends Rerankable>(
  gateway: CallersGateway,
  model: string,
  query: string,
  results: readonly Result[],
): Promise<{ results: Result[]; failure: string | null }> {
  const { client, signal } = gateway;
  const documents = results.map(({ content }) => content.slice(0, LONGEST_DOCUMENT));
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
  const named = new Set(ranked.map(({ index }) => index));
  const rest = results.filter((_, index) => !named.has(index));
  return { results: [...ranked.map(({ result }) => result), ...rest], failure: null };
}
