import { queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

/** What is backed up, with what came of it. */
export const sources = queryOptions({
  queryKey: ['sources'],
  queryFn: () => body(api.GET('/api/sources')),
});

/** Tries an address, or a folder of the server's machine. It fails with the reason. */
export function trySource(address: string): Promise<Schemas['SourceTrial']> {
  return body(api.POST('/api/sources/try', { body: { address } }));
}

export async function addSources(addresses: string[], exclude: string[]): Promise<void> {
  await api.POST('/api/sources', { body: { addresses, exclude } });
}

export async function changeSource(id: number, change: Schemas['SourceChange']): Promise<void> {
  await api.PATCH('/api/sources/{id}', { params: { path: { id } }, body: change });
}

/** What would be forgotten if a source were removed. */
export const sourceRemoval = (id: number) =>
  queryOptions({
    queryKey: ['sources', id, 'removal'],
    queryFn: () =>
      body(api.DELETE('/api/sources/{id}', { params: { path: { id }, query: { dry_run: true } } })),
    // What is kept can change, and must be seen anew each time.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });

export async function removeSource(id: number): Promise<void> {
  await api.DELETE('/api/sources/{id}', {
    params: { path: { id }, query: { nothing_kept: true } },
  });
}
