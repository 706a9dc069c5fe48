import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import type { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../lib/platform/http/client-address.ts';
import type { HttpEnv } from '../../lib/platform/http/env.ts';
import {
  asMessage,
  createFixtureCatalogue,
  createTestMcpApp,
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
  const { app, deps } = createTestMcpApp();

  it.each(paths.flatMap((path) => methods.map((method) => [method, path] as const)))(
    '%s %s is 401',
    async (method, path) => {
      for (const Authorization of ['', 'Bearer', `Bearer ${TEST_TOKEN}x`, `Basic ${TEST_TOKEN}`]) {
        const response = await app.request(path, { method, headers: { Authorization } });
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
        expect(await response.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
      }
    },
  );

  it('nothing of the body is read', async () => {
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
    ['http://localhost:6274', 200],
    ['http://127.0.0.1', 200],
    ['https://mcp.example', 200],
    ['vscode-file://vscode-app', 200],
    ['https://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['null', 403],
  ])('of a page of %s gets %d', async (Origin, status) => {
    expect(await ask('203.0.113.1', { Host: 'mcp.example', Origin })).toBe(status);
  });
});
