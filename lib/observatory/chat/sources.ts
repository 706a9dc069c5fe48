import type { KeyRing } from '../../gateway/keys.ts';
import { type SearchResult, search } from '../../search/search.ts';
import { searchableTypes } from '../../search/source-types.ts';
import type { ObservatoryDeps } from '../observatory-deps.ts';

/** What was retrieved for a question. */
export interface ChatSource {
  source_type: string;
  source_id: string;
  title: string;
  snippet: string;
  score: number;
  metadata: Record<string, unknown>;
}

const MOST_SOURCES = 5;
const QUERY_CHARACTERS = 1_000;
const SNIPPET_CHARACTERS = 600;

const titles: Record<string, string> = {
  execution_log: 'Log',
  backup_result: 'Result',
  investigation: 'Investigation',
};

/**
 * Finds what the records hold about a question. A search that fails finds nothing, which is logged: the
 * model is asked all the same, and says itself what is wrong with the gateway.
 */
export async function findChatSources(
  { db, log, redactor, gateway }: ObservatoryDeps,
  {
    question,
    username,
    keys,
    signal,
  }: { question: string; username: string; keys: KeyRing; signal: AbortSignal },
): Promise<ChatSource[]> {
  try {
    const { results } = await search(
      {
        db,
        log,
        redactor,
        client: gateway.client,
        resolveKeys: async () => keys,
      },
      {
        query: question.slice(0, QUERY_CHARACTERS).toWellFormed(),
        sourceTypes: searchableTypes,
        limit: MOST_SOURCES,
        ftsWeight: 1,
        semanticWeight: 1,
        rerankModel: null,
        investigationsOf: username,
        signal,
      },
    );
    return results.map(toSource);
  } catch (error) {
    signal.throwIfAborted();
    log.warn('nothing was retrieved for a question', { error });
    return [];
  }
}

function toSource({ source_type, source_id, content, score, metadata }: SearchResult): ChatSource {
  const { repository } = metadata;
  const where = typeof repository === 'string' && repository !== '' ? ` of ${repository}` : '';
  const snippet =
    content.length > SNIPPET_CHARACTERS ? `${content.slice(0, SNIPPET_CHARACTERS - 1)}…` : content;
  return {
    source_type,
    source_id,
    title: `${titles[source_type] ?? source_type} ${source_id}${where}`,
    snippet: snippet.toWellFormed(),
    score,
    metadata,
  };
}
