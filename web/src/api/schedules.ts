import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

/** When runs start. */
export const schedules = queryOptions({
  queryKey: ['schedules'],
  queryFn: () => body(api.GET('/api/schedules')),
  refetchInterval: 30_000,
});

/** The next times of a timing that is being typed. It fails with what is wrong at which field. */
export const schedulePreview = (timing: string, time_zone: string) =>
  queryOptions({
    queryKey: ['schedules', 'preview', timing, time_zone],
    queryFn: () =>
      body(api.GET('/api/schedules/preview', { params: { query: { timing, time_zone } } })),
    placeholderData: keepPreviousData,
    retry: false,
  });

export async function addSchedule(schedule: {
  timing: string;
  time_zone: string;
  sources: number[] | null;
}): Promise<void> {
  await api.POST('/api/schedules', { body: schedule });
}

export async function changeSchedule(
  id: number,
  changes: Partial<Schemas['ChangedSchedule']>,
): Promise<void> {
  await api.PATCH('/api/schedules/{id}', { params: { path: { id } }, body: changes });
}

export async function removeSchedule(id: number): Promise<void> {
  await api.DELETE('/api/schedules/{id}', { params: { path: { id } } });
}
