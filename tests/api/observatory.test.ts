import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHostedObservatoryApp } from '../../lib/observatory/observatory-function.ts';
import { chatEnvironment, readMessages, scriptChat } from '../support/chat.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { ADA, TEST_JWT_SECRET } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

const secrets = {
  JWT_SECRET: TEST_JWT_SECRET,
  AUTH_USERNAME: ADA.username,
  AUTH_PASSWORD: ADA.password,
};
const loginRequest = () =>
  new Request('https://example.com/observatory/auth/login', {
    method: 'POST',
    body: new URLSearchParams(ADA),
    headers: { 'X-Real-IP': '192.0.2.1' },
  });

async function createApp(environment: Record<string, string>) {
  const lines: string[] = [];
  const app = await createHostedObservatoryApp(environment, new AbortController().signal, (line) =>
    lines.push(line),
  );
  return { app, lines };
}

describe('the function api/observatory.ts', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('reads the environment of its process and answers web requests', async () => {
    const { url, close } = await createPostgres();
    for (const [name, value] of Object.entries({
      ...secrets,
      DATABASE_URL: url,
      LOG_LEVEL: 'error',
    })) {
      vi.stubEnv(name, value);
    }
    const { default: handler } = await import('../../api/observatory.ts');
    const response = await handler.fetch(loginRequest());
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ token_type: 'bearer' });
    await close();
  });
});

describe('a deployed observatory asks the platform to wait', () => {
  const works: Promise<unknown>[] = [];
  const context = Symbol.for('@vercel/request-context');
  let database: TestDatabase;
  let gateway: Gateway;
  beforeEach(async () => {
    [database, gateway] = await Promise.all([createPostgres(), startGateway()]);
    works.length = 0;
    const waitUntil = (work: Promise<unknown>) => works.push(work);
    Reflect.set(globalThis, context, { get: () => ({ waitUntil }) });
  });
  afterEach(async () => {
    Reflect.deleteProperty(globalThis, context);
    await Promise.all([database.close(), gateway.close()]);
  });

  async function logIn() {
    const variables = { ...secrets, ...chatEnvironment(gateway), DATABASE_URL: database.url };
    const { app } = await createApp({ ...variables, LOG_LEVEL: 'error' });
    const login = await app.fetch(loginRequest());
    const { access_token: token } = (await login.json()) as { access_token: string };
    works.length = 0;
    return (path: string, json: object) =>
      app.request(path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(json),
      });
  }

  it('until the chat turn of a disconnected client is stored', async () => {
    const post = await logIn();
    scriptChat(gateway, { text: ['Half a thought'], instead: 'hang' });
    const { body } = await post('/chat/stream', { question: 'Well?' });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = '';
    while (!received.includes('"token"')) received += (await reader?.read())?.value;
    await reader?.cancel();
    await Promise.all(works);
    expect(await readMessages(database.db)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', status: 'failed', content: 'Half a thought' },
    ]);
  });

  it('until any request has ended, because the platform stops requests of disconnected clients', async () => {
    const post = await logIn();
    const answering = Promise.resolve(post('/sessions', { session_name: 'Nights' }));
    expect(works).toHaveLength(1);
    await works[0];
    expect(await sql(database.db, 'SELECT session_name FROM chat_sessions')).toEqual([
      { session_name: 'Nights' },
    ]);
    expect((await answering).status).toBe(201);
  });
});

describe('a deployed observatory', () => {
  it('answers 503 without DATABASE_URL, never with an embedded database', async () => {
    const { app, lines } = await createApp(secrets);
    expect((await app.fetch(loginRequest())).status).toBe(503);
    expect(lines.join()).toContain('DATABASE_URL');
  });

  it('answers 503 without JWT_SECRET, and names it in the log', async () => {
    const { app, lines } = await createApp({ DATABASE_URL: 'postgres://127.0.0.1:9/x' });
    const response = await app.fetch(loginRequest());
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(lines.join()).toContain('JWT_SECRET');
  });

  it('logs the name of an invalid variable without its value, and is not ready', async () => {
    const { app, lines } = await createApp({ ...secrets, JWT_SECRET: 'too-short-to-sign' });
    const response = await app.request('/auth/me');
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      success: false,
      error: { code: 'SERVICE_UNAVAILABLE' },
      request_id: expect.any(String),
    });
    const ready = await app.request('/observatory/ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      status: 'unavailable',
      configuration: 'incomplete',
    });
    expect(lines.join()).toContain('JWT_SECRET');
    expect(lines.join()).not.toContain('too-short-to-sign');
  });
});
