import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import {
  asMessage,
  callOf,
  createTestMcpApp,
  createWaitingApp,
  listTools,
  messagesOf,
  postMessage,
  withToken,
} from '../support/mcp.ts';
import { testTool } from '../support/tools.ts';

describe('streamable HTTP', () => {
  const { app } = createTestMcpApp();

  it.each(['/mcp', '/rpc', '/'])('is served at %s', async (path) => {
    const response = await postMessage(app, path, listTools);
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    const [message] = await messagesOf(response);
    expect(message).toMatchObject({ id: 1, result: { tools: [{ name: 'echo' }, {}, {}, {}] } });
  });

  it.each(SUPPORTED_PROTOCOL_VERSIONS)('supports revision %s', async (protocolVersion) => {
    const initialize = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    const [message] = await messagesOf(await postMessage(app, '/mcp', initialize));
    expect(message).toMatchObject({ id: 0, result: { protocolVersion } });
    const headers = { 'MCP-Protocol-Version': protocolVersion };
    expect((await postMessage(app, '/mcp', listTools, headers)).status).toBe(200);
  });

  it('supports revision 2024-11-05', () => {
    expect(SUPPORTED_PROTOCOL_VERSIONS).toContain('2024-11-05');
  });

  it.each([
    ['*/*'],
    ['application/*, text/*;q=0.5'],
    ['text/event-stream, */*;q=0.1'],
    ['Application/JSON, Text/Event-Stream'],
    [''],
    [undefined],
  ])('accepts Accept: %s', async (accept) => {
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
    'rejects Accept: %s',
    async (Accept) => {
      expect((await postMessage(app, '/mcp', listTools, { Accept })).status).toBe(406);
    },
  );

  it('is served at /mcp/ as well as at /mcp', async () => {
    const response = await postMessage(app, '/mcp/', listTools);
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
  ])('answers the malformed call %j with one sentence', async (params, message) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answers = await messagesOf(await postMessage(app, '/mcp', call));
    expect(answers).toMatchObject([
      { id: 1, error: { code: -32602, message: expect.stringMatching(message) } },
    ]);
  });

  it('treats null arguments as none', async () => {
    const { app, waiting } = createWaitingApp();
    const call = { ...callOf('wait'), params: { name: 'wait', arguments: null } };
    const response = await postMessage(app, '/mcp', call);
    await waiting;
    await response.body?.cancel();
  });

  it('answers a notification with 202 and no body', async () => {
    const response = await postMessage(app, '/mcp', {
      jsonrpc: '2.0',
      method: 'notifications/initialized',
    });
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  it('answers each request of a batch', async () => {
    const batch = [listTools, { jsonrpc: '2.0', id: 'two', method: 'ping' }];
    const ids = (await messagesOf(await postMessage(app, '/mcp', batch))).map(({ id }) => id);
    expect(ids.sort()).toEqual([1, 'two']);
  });

  it.each([
    ['text that is not JSON', '{', {}, 400, -32700],
    ['JSON that is not JSON-RPC', '{"a":1}', {}, 400, -32700],
    ['an unknown revision', listTools, { 'MCP-Protocol-Version': '1999-01-01' }, 400, -32000],
    ['another media type', listTools, { 'Content-Type': 'text/plain' }, 415, -32000],
    ['a client that reads no events', listTools, { Accept: 'application/json' }, 406, -32000],
    ['nesting that is too deep', `{"a":${'['.repeat(100_000)}`, {}, 400, -32600],
    ['too many values', { ...listTools, params: { many: Array(20_000).fill(1) } }, {}, 400, -32600],
    ['a batch of too many messages', Array(101).fill(listTools), {}, 400, -32600],
  ])('rejects %s with an error of the protocol', async (_what, message, headers, status, code) => {
    const response = await postMessage(app, '/mcp', message, headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code }, id: null });
  });

  it('rejects a body above 1 MiB', async () => {
    const response = await postMessage(app, '/mcp', 'x'.repeat(1024 * 1024 + 1));
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
    expect((await postMessage(app, '/nowhere', listTools)).status).toBe(404);
  });

  it('sends no CORS header', async () => {
    const Origin = 'http://localhost:3000';
    for (const response of [
      await postMessage(app, '/mcp', listTools, { Origin }),
      await app.request('/mcp', { method: 'OPTIONS', headers: { Origin } }),
    ]) {
      const names = [...response.headers.keys()];
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
      await response.body?.cancel();
    }
  });

  it('adds the request id to every answer and to the log', async () => {
    const { app, deps } = createTestMcpApp();
    const response = await postMessage(app, '/mcp', listTools, { 'X-Request-ID': 'mine' });
    await response.text();
    expect(response.headers.get('x-request-id')).toBe('mine');
    expect(deps.logged).toMatchObject([{ method: 'tools/list', request_id: 'mine' }]);
  });
});

describe('the local MCP servers', () => {
  it('serve only their transport and a public /health', async () => {
    const statuses = async (serve: 'http' | 'sse') => {
      const { app } = createTestMcpApp({}, { serve });
      const status = async (method: string, path: string) =>
        (await app.request(path, { method, headers: withToken })).status;
      return [
        (await app.request('/health')).status,
        (await postMessage(app, '/mcp', listTools)).status,
        await status('POST', '/rpc'),
        await status('POST', '/'),
        await status('GET', '/sse'),
        await status('POST', '/message'),
      ];
    };
    expect(await statuses('http')).toEqual([200, 200, 404, 404, 404, 404]);
    expect(await statuses('sse')).toEqual([200, 404, 404, 404, 200, 400]);
  });

  it('answer /health like the service API', async () => {
    const { app, deps } = createTestMcpApp({}, { serve: 'http' });
    deps.clock.advance(5_000);
    expect(await (await app.request('/health')).json()).toEqual({
      status: 'ok',
      uptime_seconds: 5,
      version: '0.1.0',
    });
    expect((await app.request('/health', { method: 'POST' })).status).toBe(405);
  });

  it('leave /health to the service API in the deployed function', async () => {
    const { app } = createTestMcpApp();
    expect((await app.request('/health', { headers: withToken })).status).toBe(404);
  });
});

it('a tool receives the address of its caller', async () => {
  const callers: unknown[] = [];
  const tool = testTool('who', (_input, _deps, { caller }) => {
    callers.push(caller);
    return {};
  });
  const readConnection = () => ({ peer: '192.0.2.7', forwarded: undefined });
  const loadCatalogue = async () => ({ tools: [tool], resources: [], prompts: [] });
  const { app } = createTestMcpApp({}, { readConnection, loadCatalogue });
  await (await postMessage(app, '/mcp', callOf('who'))).text();
  expect(callers).toEqual(['192.0.2.7']);
});
