import { queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

export type SourceType = Schemas['SearchResult']['source_type'];

export const sourceTypes: readonly SourceType[] = [
  'execution_log',
  'backup_result',
  'investigation',
];

/** The most results that one search returns. */
export const MAX_FOUND = 50;

/** Searches everything, or one kind of record. */
export const search = (query: string, type?: SourceType) =>
  queryOptions({
    queryKey: ['search', query, type ?? null],
    queryFn: async ({ signal }) => {
      const answer = api.POST('/search', {
        body: {
          query,
          source_types: type === undefined ? [...sourceTypes] : [type],
          limit: MAX_FOUND,
          fts_weight: 1,
          semantic_weight: 1,
        },
        signal,
      });
      return (await body(answer)).data;
    },
    staleTime: 30_000,
  });
