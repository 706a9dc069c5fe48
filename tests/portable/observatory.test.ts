import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { addressesAt, WEBHOOK_SECRET } from '../support/alert-channels.ts';
import { waitFor } from '../support/chat.ts';
import { createEmbedded } from '../support/databases.ts';
import { ADA } from '../support/observatory-client.ts';
import { insertLog } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { sendAndLeave, startWorkerd, type Workerd } from '../support/workerd.ts';

// Login, sessions and search of the observatory in workerd.

const GRACE = { username: 'grace', password: 'the password of grace' };

let workerd: Workerd;
beforeAll(async () => {
  if (!hasRedisServer) return;
  workerd = await startWorkerd({}, await createEmbedded());
  await addUser(workerd.database.db, GRACE.username, await hashPassword(GRACE.password));
});
afterAll(() => workerd?.close());

const login = (credentials: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${workerd.url}/auth/login`, {
    method: 'POST',
    body: new URLSearchParams(credentials),
    headers,
  });

async function tokenOf(credentials: Record<string, string>): Promise<string> {
  const { access_token } = (await (await login(credentials)).json()) as { access_token: string };
  return access_token;
}

async function send(method: string, path: string, json?: unknown) {
  const response = await fetch(`${workerd.url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${await tokenOf(ADA)}`,
      ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  return { status: response.status, data };
}

describe.skipIf(!hasRedisServer)('the observatory in workerd', () => {
  it.each([ADA, GRACE])('logs in $username and accepts the token', async (user) => {
    const Authorization = `Bearer ${await tokenOf(user)}`;
    const me = await fetch(`${workerd.url}/auth/me`, { headers: { Authorization } });
    expect(await me.json()).toMatchObject({ data: { username: user.username } });
  });

  it('rejects a wrong password, and counts it in Redis', async () => {
    const headers = { 'CF-Connecting-IP': '203.0.113.9' };
    const response = await login({ ...GRACE, password: 'a wrong password' }, headers);
    expect(response.status).toBe(401);
    expect(await workerd.redis.send(['KEYS', '*203.0.113.9*'])).not.toEqual([]);
  });

  it('keeps sessions', async () => {
    const made = await send('POST', '/sessions', { session_name: 'in an isolate' });
    expect(made.status).toBe(201);
    expect((await send('GET', '/sessions')).data).toMatchObject([
      { id: made.data.id, session_name: 'in an isolate' },
    ]);
  });

  it('stores an alert channel, and sends through it', async () => {
    const service = await startScriptedServer(() => ({ status: 200 }));
    try {
      const { webhook: address } = addressesAt(service);
      expect((await send('POST', '/alert-channels', { name: 'hook', address })).status).toBe(201);
      const tried = await send('POST', '/alert-channels/hook/test');
      expect(tried.data).toEqual({ name: 'hook', sent: true, reason: null });
      const { headers, body = '' } = service.received[0] ?? {};
      const signed = headers as Record<string, string>;
      expect(new Webhook(WEBHOOK_SECRET).verify(body, signed)).toMatchObject({
        type: 'alert.test',
      });
    } finally {
      await service.close();
    }
  });

  it('searches by words, and by similarity once a generation is active', async () => {
    const { db } = workerd.database;
    await insertLog(db, { level: 'error', message: 'clone of acme/widgets timed out' });
    await insertLog(db, { level: 'info', message: 'an archive was written' });
    const search = (query: string) => send('POST', '/search', { query });
    const byWords = await search('widgets');
    expect(byWords.data).toMatchObject({ degraded: true, results: [{ id: 1 }] });

    const { data } = await send('POST', '/embeddings/switch-model', {
      model_id: 'local/hashing-384',
    });
    const { generation_id } = data;
    const built = await send('POST', '/embeddings/process-batch', { generation_id });
    expect(built.data).toMatchObject({ processed: 2, generation_status: 'READY' });
    await send('POST', `/embeddings/activate?generation_id=${generation_id}`);
    const misspelt = await search('widgts timeout');
    expect(misspelt.data).toMatchObject({ model_id: 'local/hashing-384', results: [{ id: 1 }] });
  });

  it('still answers a client when another one waiting for the same list disconnects', async () => {
    const { gateway } = workerd;
    const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
    const { promise: answering, resolve: answer } = Promise.withResolvers<void>();
    gateway.routes.set('/models', (_request, response) => {
      tellAsked();
      void answering.then(() => response.end(JSON.stringify({ data: gateway.models })));
    });
    const headers = { Authorization: `Bearer ${await tokenOf(ADA)}` };
    const url = `${workerd.url}/api/reranking-models`;
    const client = sendAndLeave(url, { headers });
    await asked;
    client.leave();
    // By the time this is answered, the runtime has processed the disconnect.
    await fetch(`${workerd.url}/health`);
    const before = workerd.redis.requests;
    const waiting = fetch(url, { headers });
    await waitFor(() => workerd.redis.requests > before || null, 'the second request');
    await fetch(`${workerd.url}/health`);
    answer();
    const response = await waiting;
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ models: [expect.objectContaining({ id: 'acme/rerank-free' })] }),
    ]);
  });
});
