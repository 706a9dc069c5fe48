import { describe, expect, it } from 'vitest';
import type { Connection } from '../../lib/http/client-address.ts';
import { createTestMcpApp, TEST_TOKEN, withToken } from '../support/mcp.ts';

const paths = ['/mcp', '/rpc', '/', '/sse', '/message?sessionId=x', '/nowhere'];
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

describe('the MCP server without the right token', () => {
  it.each(paths.flatMap((path) => methods.map((method) => [method, path] as const)))(
    'answers 401 to %s %s',
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

  it('does not read the body', async () => {
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

describe.each(['all', 'http', 'sse'] as const)('requests to the server that serves %s', (serve) => {
  const status = async (
    { app }: ReturnType<typeof createTestMcpApp>,
    Authorization: string,
    peer = '192.0.2.1',
  ) => {
    const bindings = { incoming: { socket: { remoteAddress: peer } } };
    return (await app.request('/nowhere', { headers: { Authorization } }, bindings)).status;
  };
  const allowed = `Bearer ${TEST_TOKEN}`;

  it('are limited to 100 a minute for each address if their token is wrong', async () => {
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
    'are limited to %s a minute with the token, from any addresses',
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

describe('the MCP server without MCP_AUTH_TOKEN', () => {
  const { app, deps } = createTestMcpApp({ environment: { MCP_AUTH_TOKEN: '' } });

  it('names the variable once in the log', () => {
    expect(deps.logged.map(({ message }) => message)).toEqual([
      'MCP_AUTH_TOKEN is not set: the MCP server answers 503',
    ]);
  });

  it.each(paths)('answers 503 to %s', async (path) => {
    const response = await app.request(path, { method: 'POST', headers: withToken });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });
});

describe('an HTTP request to the MCP server', () => {
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
    'may name the host %s over loopback',
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
  ])('may not name the host %j over loopback', async (Host) => {
    expect(await ask('127.0.0.1', { Host })).toBe(403);
    expect(await ask('::ffff:127.0.0.1', { Host, ...withToken }, {}, '/mcp')).toBe(403);
  });

  it('may name any host if it comes from elsewhere or through a trusted proxy', async () => {
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
  ])('is answered for a page of %s with %d', async (Origin, status) => {
    expect(await ask('203.0.113.1', { Host: 'mcp.example', Origin })).toBe(status);
  });
});
