import { queryOptions } from '@tanstack/react-query';
import { api, body } from './client.ts';

/** Which features this installation has, and why the others are off. */
export const installation = queryOptions({
  queryKey: ['installation'],
  queryFn: async () => (await body(api.GET('/config'))).data,
  staleTime: 60_000,
});
