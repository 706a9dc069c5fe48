import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import type { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Connection } from '../../lib/http/client-address.ts';
import type { HttpEnv } from '../../lib/http/env.ts';
import { readTool } from '../../lib/tools/tool.ts';
import {
  asMessage,
  connectHttp,
  createFixtureCatalogue,
  createTestMcpApp,
  listenMcp,
  messagesOf,
  TEST_TOKEN,
  withToken,
} from '../support/mcp.ts';

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

function post(
  app: Hono<HttpEnv>,
  path: string,
  message: unknown,
  headers: Record<string, string> = {},
) {
  return app.request(path, {
    method: 'POST',
    headers: { ...withToken, ...asMessage, ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

const paths = ['/mcp', '/rpc', '/', '/sse', '/message?sessionId=x', '/nowhere'];
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

describe('without the token', () => {
  it.each(paths.flatMap((path) => methods.map((method) => [method, path] as const)))(
    '%s %s is 401',
    async (method, path) => {
      const { app } = createTestMcpApp();
      for (const Authorization of ['', 'Bearer', `Bearer ${TEST_TOKEN}x`, `Basic ${TEST_TOKEN}`]) {
        const response = await app.request(path, { method, headers: { Authorization } });
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
        expect(await response.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
      }
    },
  );

  it('nothing of the body is read', async () => {
    const { app, deps } = createTestMcpApp();
    const body = new ReadableStream({
      pull() {
        throw new Error('the body was read');
      },
    });
    const request = { method: 'POST', body, duplex: 'half' } as const;
    expect((await app.request('/mcp', request)).status).toBe(401);
    expect(deps.logged).toEqual([]);
  });
});

describe.each(['all', 'http', 'sse'] as const)('requests of the server of %s', (serve) => {
  const status = async (
    { app }: ReturnType<typeof createTestMcpApp>,
    Authorization: string,
    peer = '192.0.2.1',
  ) => {
    const bindings = { incoming: { socket: { remoteAddress: peer } } };
    return (await app.request('/nowhere', { headers: { Authorization } }, bindings)).status;
  };
  const allowed = `Bearer ${TEST_TOKEN}`;

  it('with a wrong token are limited to 100 a minute and address', async () => {
    const world = createTestMcpApp({}, { serve });
    for (let n = 0; n < 100; n += 1) expect(await status(world, `Bearer wrong ${n}`)).toBe(401);
    expect(await status(world, 'Bearer wrong')).toBe(429);
    expect(await status(world, 'Bearer wrong', '192.0.2.2')).toBe(401);
    expect(await status(world, allowed)).toBe(404);
    world.deps.clock.advance(60_000);
    expect(await status(world, 'Bearer wrong')).toBe(401);
  });

  it.each([
    ['600', {}],
    ['20', { MCP_MAX_CALLS_PER_MINUTE: '20' }],
  ])(
    'with the token are limited to %s a minute, from whichever addresses',
    async (limit, environment) => {
      const world = createTestMcpApp({ environment }, { serve });
      for (let n = 0; n < Number(limit); n += 1) {
        expect(await status(world, allowed, `192.0.2.${n % 200}`)).toBe(404);
      }
      const { headers } = await world.app.request('/nowhere', { headers: withToken });
      expect(headers.get('RateLimit-Limit')).toBe(limit);
      expect(headers.get('Retry-After')).toBe('60');
      expect(await status(world, allowed)).toBe(429);
    },
  );
});

describe('without MCP_AUTH_TOKEN', () => {
  const { app, deps } = createTestMcpApp({ environment: { MCP_AUTH_TOKEN: '' } });

  it('the log names the variable once', () => {
    expect(deps.logged.map(({ message }) => message)).toEqual([
      'MCP_AUTH_TOKEN is not set: the MCP server answers 503',
    ]);
  });

  it.each(paths)('%s is 503', async (path) => {
    const response = await app.request(path, { method: 'POST', headers: withToken });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });
});

describe('streamable HTTP', () => {
  const { app } = createTestMcpApp();

  it.each(['/mcp', '/rpc', '/'])('is served at %s', async (path) => {
    const response = await post(app, path, listTools);
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    const [message] = await messagesOf(response);
    expect(message).toMatchObject({ id: 1, result: { tools: [{ name: 'echo' }, {}, {}, {}] } });
  });

  it.each(SUPPORTED_PROTOCOL_VERSIONS)('speaks revision %s', async (protocolVersion) => {
    const initialize = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    const [message] = await messagesOf(await post(app, '/mcp', initialize));
    expect(message).toMatchObject({ id: 0, result: { protocolVersion } });
    const headers = { 'MCP-Protocol-Version': protocolVersion };
    expect((await post(app, '/mcp', listTools, headers)).status).toBe(200);
  });

  it('knows revision 2024-11-05', () => {
    expect(SUPPORTED_PROTOCOL_VERSIONS).toContain('2024-11-05');
  });

  it.each([
    ['*/*'],
    ['application/*, text/*;q=0.5'],
    ['text/event-stream, */*;q=0.1'],
    ['Application/JSON, Text/Event-Stream'],
    [''],
    [undefined],
  ])('answers Accept: %s', async (accept) => {
    const { Accept, ...headers } = { ...withToken, ...asMessage };
    const response = await app.request('/mcp', {
      method: 'POST',
      headers: { ...headers, ...(accept === undefined ? {} : { Accept: accept }) },
      body: JSON.stringify(listTools),
    });
    expect(response.status).toBe(200);
    expect(await messagesOf(response)).toMatchObject([{ id: 1, result: {} }]);
  });

  it.each(['application/json', 'text/event-stream', '*/html', '*/*;q=0'])(
    'refuses Accept: %s',
    async (Accept) => {
      expect((await post(app, '/mcp', listTools, { Accept })).status).toBe(406);
    },
  );

  it('is served at /mcp/ as at /mcp', async () => {
    const response = await post(app, '/mcp/', listTools);
    expect(await messagesOf(response)).toMatchObject([{ id: 1, result: {} }]);
    expect((await app.request('/mcp/', { method: 'POST' })).status).toBe(401);
    const get = await app.request('/mcp/', { headers: withToken });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    [{ arguments: {} }, /^invalid params: name: /],
    [{ name: 'echo', arguments: 'text' }, /^invalid params: arguments: /],
    [{ name: 'echoo' }, /^there is no tool echoo; did you mean echo\?$/],
    [{ name: 'nowhere-at-all' }, /^there is no tool nowhere-at-all; tools\/list names them all$/],
  ])('answers the malformed call %j in one sentence of our own', async (params, message) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answers = await messagesOf(await post(app, '/mcp', call));
    expect(answers).toMatchObject([
      { id: 1, error: { code: -32602, message: expect.stringMatching(message) } },
    ]);
  });

  it('takes arguments that are null for none', async () => {
    const params = { name: 'wait', arguments: null };
    const { catalogue, waiting } = createFixtureCatalogue();
    const { app } = createTestMcpApp({}, { loadCatalogue: async () => catalogue });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const response = await post(app, '/mcp', call);
    await waiting;
    await response.body?.cancel();
  });

  it('takes a notification with 202 and no body', async () => {
    const response = await post(app, '/mcp', {
      jsonrpc: '2.0',
      method: 'notifications/initialized',
    });
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  it('answers each request of a batch', async () => {
    const batch = [listTools, { jsonrpc: '2.0', id: 'two', method: 'ping' }];
    const ids = (await messagesOf(await post(app, '/mcp', batch))).map(({ id }) => id);
    expect(ids.sort()).toEqual([1, 'two']);
  });

  it.each([
    ['no JSON', '{', {}, 400, -32700],
    ['no JSON-RPC', '{"a":1}', {}, 400, -32700],
    ['an unknown revision', listTools, { 'MCP-Protocol-Version': '1999-01-01' }, 400, -32000],
    ['another media type', listTools, { 'Content-Type': 'text/plain' }, 415, -32000],
    ['a client that reads no events', listTools, { Accept: 'application/json' }, 406, -32000],
    ['a batch of too many', Array(101).fill(listTools), {}, 400, -32600],
  ])('refuses %s as the protocol says', async (_what, message, headers, status, code) => {
    const response = await post(app, '/mcp', message, headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code }, id: null });
  });

  it('refuses a body above 1 MiB', async () => {
    const response = await post(app, '/mcp', 'x'.repeat(1024 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(await response.json()).toHaveProperty('request_id');
  });

  it.each([
    ['GET', '/', 'POST'],
    ['PUT', '/', 'POST'],
    ['GET', '/mcp', 'POST'],
    ['DELETE', '/mcp', 'POST'],
    ['OPTIONS', '/rpc', 'POST'],
    ['POST', '/sse', 'GET, HEAD'],
    ['GET', '/message', 'POST'],
  ])('answers %s %s with 405 and Allow: %s', async (method, path, allow) => {
    const response = await app.request(path, { method, headers: withToken });
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
  });

  it('answers an unknown path with 404', async () => {
    expect((await post(app, '/nowhere', listTools)).status).toBe(404);
  });

  it('sends no CORS header', async () => {
    const Origin = 'http://localhost:3000';
    for (const response of [
      await post(app, '/mcp', listTools, { Origin }),
      await app.request('/mcp', { method: 'OPTIONS', headers: { Origin } }),
    ]) {
      const names = [...response.headers.keys()];
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
      await response.body?.cancel();
    }
  });

  it('gives every answer its request id, also in the log', async () => {
    const { app, deps } = createTestMcpApp();
    const response = await post(app, '/mcp', listTools, { 'X-Request-ID': 'mine' });
    await response.text();
    expect(response.headers.get('x-request-id')).toBe('mine');
    expect(deps.logged).toMatchObject([{ method: 'tools/list', request_id: 'mine' }]);
  });

  it('cancels what runs when the client goes away', async () => {
    const { catalogue, canceled, waiting } = createFixtureCatalogue();
    const { app, deps } = createTestMcpApp({}, { loadCatalogue: async () => catalogue });
    const leaving = new AbortController();
    const response = await app.request('/mcp', {
      method: 'POST',
      headers: { ...withToken, ...asMessage },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'wait' },
      }),
      signal: leaving.signal,
    });
    await waiting;
    leaving.abort();
    expect(await messagesOf(response)).toEqual([]);
    expect(canceled).toEqual(['wait']);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
  });
});

it('a client that breaks its connection cancels what runs, on a real server', async () => {
  const { catalogue, canceled, waiting } = createFixtureCatalogue();
  const { app } = createTestMcpApp({}, { loadCatalogue: async () => catalogue });
  const server = await listenMcp(app);
  const leaving = new AbortController();
  const response = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: { ...withToken, ...asMessage, Accept: '*/*' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } }),
    signal: leaving.signal,
  });
  await waiting;
  leaving.abort();
  await expect(response.text()).rejects.toThrow();
  while (canceled.length === 0) await fetch(server.url);
  expect(canceled).toEqual(['wait']);
  await server.close();
});

describe('a cancellation in a POST of its own', () => {
  const callWait = (id: number | string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'wait' },
  });
  const cancel = (requestId: number | string) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });
  /** An app on whose tool `wait` as many calls run as are given, each with its headers. */
  async function running(...calls: [id: number | string, headers: Record<string, string>][]) {
    const { catalogue, canceled } = createFixtureCatalogue();
    const { app, deps } = createTestMcpApp({}, { loadCatalogue: async () => catalogue });
    const responses = [];
    for (const [id, headers] of calls) {
      responses.push(await post(app, '/mcp', callWait(id), headers));
    }
    // Answered behind those: the calls run by then.
    await messagesOf(await post(app, '/mcp', listTools));
    return { app, deps, canceled, responses };
  }
  const mine = { 'User-Agent': 'mine/1' };
  const theirs = { 'User-Agent': 'theirs/1' };

  it.each([1, 'one'])('cancels the request %j and ends its answer', async (id) => {
    const { app, deps, canceled, responses } = await running([id, mine]);
    expect((await post(app, '/mcp', cancel(id), mine)).status).toBe(202);
    expect(await messagesOf(responses[0] as Response)).toEqual([]);
    expect(canceled).toEqual(['wait']);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
  });

  it.each([
    ['another client', [[1, theirs]], cancel(1)],
    ['another request', [[1, mine]], cancel(2)],
    ['a request whose number is a text', [['1', mine]], cancel(1)],
    [
      'one of two with the same number',
      [
        [1, mine],
        [1, mine],
      ],
      cancel(1),
    ],
  ] as const)('leaves %s alone', async (_what, calls, message) => {
    const { app, canceled, responses } = await running(
      ...calls.map(([id, headers]) => [id, { ...headers }] as [number | string, typeof mine]),
    );
    expect((await post(app, '/mcp', message, mine)).status).toBe(202);
    await messagesOf(await post(app, '/mcp', listTools));
    expect(canceled).toEqual([]);
    for (const response of responses) await response.body?.cancel();
  });

  it('leaves a request alone that was answered before', async () => {
    const { app, canceled } = await running();
    await messagesOf(await post(app, '/mcp', { ...listTools, id: 7 }, mine));
    const later = await post(app, '/mcp', callWait(8), mine);
    await post(app, '/mcp', cancel(7), mine);
    await messagesOf(await post(app, '/mcp', listTools));
    expect(canceled).toEqual([]);
    await later.body?.cancel();
  });

  it('of the official client cancels what runs, on a real server', async () => {
    const { catalogue, canceled, waiting } = createFixtureCatalogue();
    const { app, deps } = createTestMcpApp({}, { loadCatalogue: async () => catalogue });
    const server = await listenMcp(app);
    const client = await connectHttp(`${server.url}/mcp`);
    const leaving = new AbortController();
    const call = client.callTool({ name: 'wait' }, undefined, { signal: leaving.signal });
    const outcome = expect(call).rejects.toThrow();
    await waiting;
    leaving.abort();
    await outcome;
    // The notification is on its way when the client gives up waiting.
    while (canceled.length === 0) await client.ping();
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
    await client.close();
    await server.close();
  });
});

describe('a batch', () => {
  const wait = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } };
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

  it.each([
    ['behind', [wait, cancel]],
    ['before', [cancel, wait]],
  ])('ends when it cancels its own request, %s it', async (_place, batch) => {
    const { app } = createTestMcpApp();
    const response = await post(app, '/mcp', [...batch, { ...listTools, id: 2 }]);
    expect(await messagesOf(response)).toMatchObject([{ id: 2, result: {} }]);
  });
});

describe('the local servers', () => {
  it('serve their transport and a public /health alone', async () => {
    const statuses = async (serve: 'http' | 'sse') => {
      const { app } = createTestMcpApp({}, { serve });
      const status = async (method: string, path: string) =>
        (await app.request(path, { method, headers: withToken })).status;
      return [
        (await app.request('/health')).status,
        (await post(app, '/mcp', listTools)).status,
        await status('POST', '/rpc'),
        await status('POST', '/'),
        await status('GET', '/sse'),
        await status('POST', '/message'),
      ];
    };
    expect(await statuses('http')).toEqual([200, 200, 404, 404, 404, 404]);
    expect(await statuses('sse')).toEqual([200, 404, 404, 404, 200, 400]);
  });

  it('answer /health as the service API does', async () => {
    const { app, deps } = createTestMcpApp({}, { serve: 'http' });
    deps.clock.advance(5_000);
    expect(await (await app.request('/health')).json()).toEqual({
      status: 'ok',
      uptime_seconds: 5,
      version: '0.1.0',
    });
    expect((await app.request('/health', { method: 'POST' })).status).toBe(405);
  });

  it('leave /health to the service API in the function', async () => {
    const { app } = createTestMcpApp();
    expect((await app.request('/health', { headers: withToken })).status).toBe(404);
  });
});

describe('a connection', () => {
  const ask = async (
    peer: string,
    headers: Record<string, string>,
    environment: Record<string, string> = {},
    path = '/health',
  ) => {
    const readConnection = (): Connection => ({ peer, forwarded: undefined });
    const { app } = createTestMcpApp({ environment }, { serve: 'http', readConnection });
    return (await app.request(path, { headers })).status;
  };

  it.each(['localhost', 'LOCALHOST:8090', '127.0.0.1', '127.0.0.1:1', '[::1]', '[::1]:8090'])(
    'over loopback may name the host %s',
    async (Host) => {
      for (const peer of ['127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1']) {
        expect(await ask(peer, { Host })).toBe(200);
      }
    },
  );

  it.each([
    'evil.example',
    'evil.example:8090',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example@localhost',
    '::1',
    '0.0.0.0',
    '',
  ])('over loopback may not name the host %j', async (Host) => {
    expect(await ask('127.0.0.1', { Host })).toBe(403);
    expect(await ask('::ffff:127.0.0.1', { Host, ...withToken }, {}, '/mcp')).toBe(403);
  });

  it('from elsewhere, or from a trusted proxy, may name any host', async () => {
    const Host = 'mcp.example';
    expect(await ask('203.0.113.1', { Host })).toBe(200);
    expect(await ask('127.0.0.1', { Host }, { TRUSTED_PROXIES: '127.0.0.1' })).toBe(200);
  });

  it.each([
    ['http://localhost:6274', 403],
    ['http://127.0.0.1', 403],
    ['https://mcp.example', 200],
    ['vscode-file://vscode-app', 200],
    ['https://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['null', 403],
  ])('of a page of %s gets %d', async (Origin, status) => {
    expect(await ask('203.0.113.1', { Host: 'mcp.example', Origin })).toBe(status);
  });
});

it('a tool is told the address that asks', async () => {
  const told: unknown[] = [];
  const tool = readTool({
    name: 'who',
    title: 'Who',
    description: 'Tells who asks.',
    input: z.strictObject({}),
    output: z.object({}),
    handler: (_input, _deps, { caller }) => {
      told.push(caller);
      return {};
    },
  });
  const readConnection = () => ({ peer: '192.0.2.7', forwarded: undefined });
  const { catalogue } = createFixtureCatalogue();
  const loadCatalogue = async () => ({ ...catalogue, tools: [tool] });
  const { app } = createTestMcpApp({}, { readConnection, loadCatalogue });
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'who' } };
  const response = await post(app, '/mcp', call);
  await response.text();
  expect(told).toEqual(['192.0.2.7']);
});
