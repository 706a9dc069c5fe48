import type { KeyRing } from '../../gateway/keys.ts';
import { type SearchResult, search } from '../../search/search.ts';
import { searchableTypes } from '../../search/source-types.ts';
import { cutText } from '../../security/redaction/cut-text.ts';
import type { ChatSource } from '../base/chat-events.ts';
import type { ObservatoryDeps } from '../base/observatory-deps.ts';

const MAX_SOURCES = 5;
const MAX_QUERY_CHARS = 1_000;
const MAX_SNIPPET_CHARS = 600;
/** Maximum characters of a title and of each metadata text: repository names can have any length. */
const MAX_NAME_CHARS = 300;

const titles: Record<ChatSource['source_type'], string> = {
  execution_log: 'Log',
  backup_result: 'Result',
  investigation: 'Investigation',
};

/**
 * Finds records for a question. If the search fails, the failure is logged and the model is asked without
 * records; if the gateway is at fault, asking the model reports it.
 */
export async function findChatSources(
  { config, db, log, redactor, gateway }: ObservatoryDeps,
  {
    question,
    username,
    keys,
    signal,
  }: { question: string; username: string; keys: KeyRing; signal: AbortSignal },
): Promise<ChatSource[]> {
  try {
    const { results } = await search(
      { db, log, redactor, client: gateway.client, resolveKeys: async () => keys },
      {
        query: question.slice(0, MAX_QUERY_CHARS).toWellFormed(),
        sourceTypes: searchableTypes,
        limit: MAX_SOURCES,
        ftsWeight: 1,
        semanticWeight: 1,
        rerankModel: null,
        investigationsOf: username,
        budgetMs: config.SEARCH_TIME_BUDGET_SECONDS * 1_000,
        signal,
      },
    );
    return results.flatMap(toSource);
  } catch (error) {
    signal.throwIfAborted();
    log.warn('the search for a question failed', { error });
    return [];
  }
}

function toSource({ source_id, content, score, metadata, ...result }: SearchResult): ChatSource[] {
  const source_type = searchableTypes.find((type) => type === result.source_type);
  if (source_type === undefined) return [];
  const { repository } = metadata;
  const where = typeof repository === 'string' && repository !== '' ? ` of ${repository}` : '';
  const snippet =
    content.length > MAX_SNIPPET_CHARS ? `${content.slice(0, MAX_SNIPPET_CHARS - 1)}…` : content;
  const title = cutText(`${titles[source_type]} ${source_id}${where}`, MAX_NAME_CHARS);
  return [
    {
      ...{ source_type, source_id, title, snippet: snippet.toWellFormed(), score },
      metadata: cutTexts(metadata),
    },
  ];
}

function cutTexts(metadata: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [
      name,
      typeof value === 'string' ? cutText(value, MAX_NAME_CHARS) : value,
    ]),
  );
}
