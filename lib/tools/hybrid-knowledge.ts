import { type SearchHandles, search } from '../search/search.ts';
import { sourceTypes } from '../search/source-types.ts';
import type { KnowledgeSearch } from './knowledge.ts';

/**
 * The hybrid search over logs, errors, fixes and the investigations of one user, or of all with null
 * (spec 3, Tool behaviour 5).
 */
export function createHybridKnowledge(
  handles: SearchHandles,
  investigationsOf: string | null,
): KnowledgeSearch {
  return {
    async search(query, limit, signal) {
      const { results, degraded_reason } = await search(handles, {
        query,
        sourceTypes,
        limit,
        ftsWeight: 1,
        semanticWeight: 1,
        rerankModel: null,
        investigationsOf,
        signal,
      });
      return { hits: results, degraded_reason };
    },
  };
}
