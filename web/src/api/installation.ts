import { queryOptions } from '@tanstack/react-query';
import { api, body } from './client.ts';

/** What this installation can do, and why not more. */
export const installation = queryOptions({
  queryKey: ['installation'],
  queryFn: async () => (await body(api.GET('/config'))).data,
  staleTime: 60_000,
});
