import { type SearchDeps, search } from '../search/search.ts';
import { sourceTypes } from '../search/source-types.ts';
import type { KnowledgeSearch } from './knowledge.ts';

/**
 * The hybrid search over logs, errors, fixes and the investigations of one user, or of all with null.
 */
export function createHybridKnowledge(
  deps: SearchDeps,
  investigationsOf: string | null,
): KnowledgeSearch {
  return {
    async search(query, limit, signal) {
      const { results, degraded_reason } = await search(deps, {
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
