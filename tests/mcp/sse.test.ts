import type { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpEnv } from '../../lib/http/env.ts';
import { MAX_SESSIONS } from '../../lib/mcp/transports/sse-sessions.ts';
import { MAX_UNREAD_BYTES } from '../../lib/mcp/transports/sse-transport.ts';
import {
  callOf,
  connectSse,
  createTestMcpApp,
  createWaitingApp,
  listenMcp,
  TEST_TOKEN,
  withToken,
} from '../support/mcp.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Opens a session and reads its stream event by event. */
async function openSession(app: Hono<HttpEnv>) {
  const response = await app.request('/sse', { headers: withToken });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) throw new Error(`no stream: ${response.status}`);
  closing.push(() => reader.cancel());
  const next = async () => (await reader.read()).value ?? null;
  const endpoint = /^event: endpoint\ndata: (\S+)\n\n$/.exec((await next()) ?? '')?.[1] ?? '';
  return { response, reader, next, endpoint };
}

function post(app: Hono<HttpEnv>, endpoint: string, body: unknown, headers = {}) {
  return app.request(endpoint, {
    method: 'POST',
    headers: { ...withToken, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };

describe('an MCP session over SSE', () => {
  it('starts with the address for messages, whose id cannot be guessed', async () => {
    const { app } = createTestMcpApp();
    const { response, endpoint } = await openSession(app);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toContain('no-cache');
    expect(endpoint).toMatch(/^\/message\?sessionId=[\w-]{43}$/);
    expect((await openSession(app)).endpoint).not.toBe(endpoint);
  });

  it('accepts messages with 202 and answers on its stream', async () => {
    const { app } = createTestMcpApp();
    const { endpoint, next } = await openSession(app);
    const response = await post(app, endpoint, ping);
    expect([response.status, await response.text()]).toEqual([202, 'Accepted']);
    expect(await next()).toBe('event: message\ndata: {"result":{},"jsonrpc":"2.0","id":7}\n\n');
  });

  it("does not receive another session's messages", async () => {
    const { app } = createTestMcpApp();
    const [one, two] = [await openSession(app), await openSession(app)];
    await post(app, two.endpoint, { ...ping, id: 'two' });
    await post(app, one.endpoint, { ...ping, id: 'one' });
    expect(await one.next()).toContain('"id":"one"');
    expect(await two.next()).toContain('"id":"two"');
  });

  it('requires the token for messages, too', async () => {
    const { app } = createTestMcpApp();
    const { endpoint } = await openSession(app);
    for (const Authorization of ['', 'Bearer another-token']) {
      expect((await post(app, endpoint, ping, { Authorization })).status).toBe(401);
    }
  });

  it.each([
    ['text that is not JSON', '{'],
    ['no JSON-RPC', '{"a":1}'],
    ['a batch', JSON.stringify([ping])],
    ['nothing', ''],
    ['nesting that is too deep', JSON.stringify(ping).replace('7', '['.repeat(100_000))],
    ['too many values', JSON.stringify({ ...ping, params: { many: Array(20_000).fill(1) } })],
  ])('rejects %s with 400', async (_what, body) => {
    const { app } = createTestMcpApp();
    const { endpoint } = await openSession(app);
    const response = await post(app, endpoint, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toHaveProperty('error');
  });

  it('is 404 if it was never opened, and its id is required', async () => {
    const { app } = createTestMcpApp();
    expect((await post(app, '/message?sessionId=unknown', ping)).status).toBe(404);
    expect((await post(app, '/message', ping)).status).toBe(400);
    expect((await post(app, '/message?sessionId=', ping)).status).toBe(400);
  });

  it('rejects a message above 1 MiB', async () => {
    const { app } = createTestMcpApp();
    const { endpoint } = await openSession(app);
    const tooLong = 'x'.repeat(1024 * 1024 + 1);
    expect((await post(app, endpoint, tooLong)).status).toBe(413);
    // Without a Content-Length, the size is noticed only while reading.
    const chunked = new Request(`http://127.0.0.1${endpoint}`, {
      method: 'POST',
      headers: { ...withToken, 'Content-Type': 'application/json' },
      body: new Blob([tooLong]).stream(),
      duplex: 'half',
    });
    expect((await app.request(chunked)).status).toBe(413);
  });

  it('ends with its stream, which cancels its running requests', async () => {
    const { app, canceled, waiting } = createWaitingApp();
    const { endpoint, reader } = await openSession(app);
    const call = callOf('wait');
    await post(app, endpoint, call);
    await waiting;
    await reader.cancel();
    expect(canceled).toEqual(['wait']);
    expect((await post(app, endpoint, ping)).status).toBe(404);
  });

  it('ends when the process is about to end', async () => {
    const stopping = new AbortController();
    const { app } = createTestMcpApp({}, { stopping: stopping.signal });
    const { next } = await openSession(app);
    stopping.abort();
    expect(await next()).toBeNull();
  });

  it('sends a comment every 15 seconds', async () => {
    const { app, deps } = createTestMcpApp();
    const { next } = await openSession(app);
    deps.clock.advance(15_000);
    expect(await next()).toBe(': keepalive\n\n');
  });

  it('ends when its client does not read', async () => {
    const { app, deps } = createTestMcpApp({ environment: { MCP_MAX_CALLS_PER_MINUTE: '10000' } });
    const { endpoint } = await openSession(app);
    const text = 'x'.repeat(39_000);
    const call = callOf('echo', { text });
    let sent = 0;
    while ((await post(app, endpoint, call)).status === 202) sent += 1;
    // Each answer contains the text twice: as structured content and as JSON.
    const expected = MAX_UNREAD_BYTES / (2 * text.length);
    expect(sent).toBeGreaterThan(expected * 0.9);
    expect(sent).toBeLessThan(expected * 1.1);
    expect(deps.logged.at(-1)).toMatchObject({ level: 'info' });
  });

  it('is refused while too many are open', async () => {
    const { app } = createTestMcpApp();
    const sessions = [];
    for (let n = 0; n < MAX_SESSIONS; n++) sessions.push(await openSession(app));
    expect((await app.request('/sse', { headers: withToken })).status).toBe(503);
    await sessions[0]?.reader.cancel();
    await openSession(app);
  });

  it('is not opened by HEAD', async () => {
    const { app, deps } = createTestMcpApp();
    const response = await app.request('/sse', { method: 'HEAD', headers: withToken });
    expect(response.status).toBe(200);
    expect(deps.clock.sleepers()).toBe(0);
  });
});

it('an MCP session over SSE ends on a real server when its client disconnects', async () => {
  const { app, canceled, waiting } = createWaitingApp();
  const server = await listenMcp(app);
  closing.push(server.close);
  const client = await connectSse(`${server.url}/sse`);
  const call = client.callTool({ name: 'wait' });
  await waiting;
  await Promise.allSettled([client.close(), call]);
  while (canceled.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(canceled).toEqual(['wait']);
});

it('GET /sse ignores a token in the address', async () => {
  const { app } = createTestMcpApp();
  expect((await app.request(`/sse?token=${TEST_TOKEN}&access_token=${TEST_TOKEN}`)).status).toBe(
    401,
  );
});
