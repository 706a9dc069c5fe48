import { queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

/** Windows, quiet hours and mutes begin and end by themselves. */
const REFRESH_MS = 60_000;

/** The quiet hours, and until when it is quiet now. */
export const quietHours = queryOptions({
  queryKey: ['quiet-hours'],
  queryFn: () => body(api.GET('/api/quiet-hours')),
  refetchInterval: REFRESH_MS,
});

export async function setQuietHours(hours: Schemas['NewQuietHours']): Promise<void> {
  await api.PUT('/api/quiet-hours', { body: hours });
}

export async function removeQuietHours(): Promise<void> {
  await api.DELETE('/api/quiet-hours');
}

/** The mutes that hold now. */
export const mutes = queryOptions({
  queryKey: ['mutes'],
  queryFn: async () => (await body(api.GET('/api/mutes'))).data,
  refetchInterval: REFRESH_MS,
});

export async function addMute(mute: Schemas['NewMute']): Promise<void> {
  await api.POST('/api/mutes', { body: mute });
}

export async function endMute(id: number): Promise<void> {
  await api.DELETE('/api/mutes/{id}', { params: { path: { id } } });
}

/** The maintenance windows that are current or come. */
export const maintenance = queryOptions({
  queryKey: ['maintenance'],
  queryFn: async () => (await body(api.GET('/api/maintenance'))).data,
  refetchInterval: REFRESH_MS,
});

export async function addMaintenance(window: Schemas['NewMaintenanceWindow']): Promise<void> {
  await api.POST('/api/maintenance', { body: window });
}

export async function removeMaintenance(id: number): Promise<void> {
  await api.DELETE('/api/maintenance/{id}', { params: { path: { id } } });
}

/** When the digest is sent, and to whom. */
export const digest = queryOptions({
  queryKey: ['digest'],
  queryFn: () => body(api.GET('/api/digest')),
  refetchInterval: REFRESH_MS,
});

export async function setDigest(wanted: Schemas['NewDigest']): Promise<void> {
  await api.PUT('/api/digest', { body: wanted });
}

export async function removeDigest(): Promise<void> {
  await api.DELETE('/api/digest');
}

/** The public status pages in use. */
export const statusPages = queryOptions({
  queryKey: ['status-pages'],
  queryFn: async () => (await body(api.GET('/api/status-page'))).data,
});

/** Publishes a status page. Returns the path at which it is. */
export async function publishStatusPage(page: Schemas['NewStatusPage']): Promise<string> {
  return (await body(api.POST('/api/status-page', { body: page }))).path;
}

export async function revokeStatusPage(id: number): Promise<void> {
  await api.DELETE('/api/status-page/{id}', { params: { path: { id } } });
}
