import { queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

/** The interval at which the progress of a generation is read while it is built. */
const PROGRESS_MS = 2_000;

/** Which gateway key the user's questions use. */
export const gatewayConnection = queryOptions({
  queryKey: ['gateway'],
  queryFn: async () => (await body(api.GET('/me/gateway'))).data,
});

/** Connects the user's own key with the code that the gateway returned. */
export async function connectGateway(code: string, verifier: string): Promise<void> {
  await api.POST('/me/gateway/exchange', { body: { code, code_verifier: verifier } });
}

/** Deletes the user's own key. */
export async function disconnectGateway(): Promise<void> {
  await api.DELETE('/me/gateway');
}

/** The models that may build vectors. */
export const embeddingModels = queryOptions({
  queryKey: ['models', 'embedding'],
  queryFn: () => body(api.GET('/api/embedding-models')),
});

/** The free reranking models. */
export const rerankingModels = queryOptions({
  queryKey: ['models', 'reranking'],
  queryFn: () => body(api.GET('/api/reranking-models')),
});

/** The generations of vectors, with the progress of the one that is being built. */
export const generations = queryOptions({
  queryKey: ['generations'],
  queryFn: async () => {
    const [status, all] = await Promise.all([
      body(api.GET('/embeddings/status')),
      body(api.GET('/embeddings/generations')),
    ]);
    return { ...status.data, generations: all.data };
  },
  refetchInterval: ({ state }) =>
    state.data?.generations.some(({ status }) => status === 'BUILDING') ? PROGRESS_MS : false,
});

/** Starts to build a generation with a model. */
export async function switchModel(model_id: string): Promise<Schemas['SwitchedModel']> {
  return (await body(api.POST('/embeddings/switch-model', { body: { model_id } }))).data;
}

/** Processes the next jobs of a generation, for a few seconds at most. */
export async function processJobs(generation_id: number): Promise<Schemas['ProcessedBatch']> {
  const wanted = { generation_id, batch_size: 100, max_batches: 5 };
  return (await body(api.POST('/embeddings/process-batch', { body: wanted }))).data;
}

/** Switches searches to a generation. */
export async function activateGeneration(generation_id: number): Promise<void> {
  await api.POST('/embeddings/activate', { params: { query: { generation_id } } });
}

/** Deletes the retired and failed generations. */
export async function pruneGenerations(): Promise<void> {
  await api.POST('/embeddings/prune');
}

/** The users. Only the owner sees the others. */
export const users = queryOptions({
  queryKey: ['users'],
  queryFn: async () => (await body(api.GET('/users'))).data,
});

export async function addUser(
  user: Pick<Schemas['User'], 'username' | 'is_admin'> & { password: string },
): Promise<void> {
  await api.POST('/users', { body: user });
}

/** Makes a user an administrator, or takes that away. */
export async function setAdmin(name: string, is_admin: boolean): Promise<void> {
  await api.PATCH('/users/{name}', { params: { path: { name } }, body: { is_admin } });
}

/** Removes a user with everything that belongs to them. */
export async function removeUser(name: string): Promise<void> {
  await api.DELETE('/users/{name}', { params: { path: { name } } });
}

/** Changes a password. Users need their current one to change their own. */
export async function changePassword(
  name: string,
  passwords: Schemas['NewPassword'],
): Promise<void> {
  await api.PUT('/users/{name}/password', { params: { path: { name } }, body: passwords });
}

/** The alert channels, for the owner only. */
export const alertChannels = queryOptions({
  queryKey: ['alert-channels'],
  queryFn: async () => (await body(api.GET('/alert-channels'))).data,
});

export async function addAlertChannel(channel: Schemas['NewAlertChannel']): Promise<void> {
  await api.POST('/alert-channels', { body: channel });
}

/** Removes a channel that was added on the page. */
export async function removeAlertChannel(name: string): Promise<void> {
  await api.DELETE('/alert-channels/{name}', { params: { path: { name } } });
}

/** Sends a test message. Returns null, or why it was not sent. */
export async function testAlertChannel(name: string): Promise<string | null> {
  const params = { path: { name } };
  const { data } = await body(api.POST('/alert-channels/{name}/test', { params }));
  return data.sent ? null : (data.reason ?? 'no reason was given');
}
