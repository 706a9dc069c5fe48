import { type SearchDeps, type SearchResult, search } from '../search/search.ts';
import { sourceTypes } from '../search/source-types.ts';

/** Hybrid search over logs, results, fixes and investigations. */
export interface KnowledgeSearch {
  /**
   * `degraded_reason` says what was missing from the search, or that it was cut short; null if neither.
   * `nothing_found` says, only without hits, whether there is anything to find.
   */
  search(
    query: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{
    hits: SearchResult[];
    degraded_reason: string | null;
    nothing_found: string | null;
  }>;
}

interface KnowledgeDeps extends SearchDeps {
  config: { SEARCH_TIME_BUDGET_SECONDS: number };
}

/** Searches the investigations of one user, or of all users if null, along with everything else. */
export function createKnowledgeSearch(
  { config, ...deps }: KnowledgeDeps,
  investigationsOf: string | null,
): KnowledgeSearch {
  return {
    async search(query, limit, signal) {
      const { results, degraded_reason, nothing_found } = await search(deps, {
        query,
        sourceTypes,
        limit,
        ftsWeight: 1,
        semanticWeight: 1,
        rerankModel: null,
        investigationsOf,
        budgetMs: config.SEARCH_TIME_BUDGET_SECONDS * 1_000,
        signal,
      });
      return { hits: results, degraded_reason, nothing_found };
    },
  };
}
