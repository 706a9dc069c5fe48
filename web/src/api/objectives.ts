import { queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

const STALE_MS = 5 * 60_000;

/** The objectives of groups of repositories, and how far each was attained. */
export const objectives = queryOptions({
  queryKey: ['objectives'],
  queryFn: () => body(api.GET('/api/objectives')),
  staleTime: STALE_MS,
});

type Wanted = Omit<Schemas['Objective'], 'id'>;

/** Adds an objective, or changes the one with this id. */
export async function storeObjective(id: number | null, wanted: Wanted): Promise<void> {
  if (id === null) await api.POST('/api/objectives', { body: wanted });
  else await api.PUT('/api/objectives/{id}', { params: { path: { id } }, body: wanted });
}

export async function removeObjective(id: number): Promise<void> {
  await api.DELETE('/api/objectives/{id}', { params: { path: { id } } });
}
