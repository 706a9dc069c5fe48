import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, body } from './client.ts';

const REFRESH_MS = 15_000;

/** Who is logged in. */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async () => (await body(api.GET('/auth/me'))).data,
  retry: false,
  staleTime: 60_000,
});

export const stats = queryOptions({
  queryKey: ['stats'],
  queryFn: () => body(api.GET('/api/dashboard/stats')),
  refetchInterval: REFRESH_MS,
});

export const metrics = (days: number) =>
  queryOptions({
    queryKey: ['metrics', days],
    queryFn: () => body(api.GET('/api/metrics', { params: { query: { days } } })),
    refetchInterval: REFRESH_MS,
  });

export const latestRun = queryOptions({
  queryKey: ['runs', 'latest'],
  queryFn: async () => (await body(api.GET('/api/backups/latest'))).run,
  refetchInterval: REFRESH_MS,
});

export const runs = (query: { page: number; has_failures?: true }) =>
  queryOptions({
    queryKey: ['runs', 'page', query],
    queryFn: () => body(api.GET('/api/backups', { params: { query: { ...query, limit: 25 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

export const run = (id: number) =>
  queryOptions({
    queryKey: ['runs', id],
    queryFn: () => body(api.GET('/api/backups/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.run.status === 'running' ? 3_000 : false),
  });

export const repositories = (page: number, limit = 25) =>
  queryOptions({
    queryKey: ['repositories', page, limit],
    queryFn: () => body(api.GET('/api/repos', { params: { query: { page, limit } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

export const logs = (query: { level?: string; run_id?: number; page: number }) =>
  queryOptions({
    queryKey: ['logs', query],
    queryFn: () =>
      body(api.GET('/api/logs', { params: { query: { ...query, limit: 100 } } as never })),
    placeholderData: keepPreviousData,
  });
