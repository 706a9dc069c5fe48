import { describe, expect, it } from 'vitest';
import type { Connection } from '../../lib/http/client-address.ts';
import { createTestMcpApp, TEST_TOKEN, withToken } from '../support/mcp.ts';

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

  it('the body is not read', async () => {
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

describe.each(['all', 'http', 'sse'] as const)('requests to the server of %s', (serve) => {
  const status = async (
    { app }: ReturnType<typeof createTestMcpApp>,
    Authorization: string,
    peer = '192.0.2.1',
  ) => {
    const bindings = { incoming: { socket: { remoteAddress: peer } } };
    return (await app.request('/nowhere', { headers: { Authorization } }, bindings)).status;
  };
  const allowed = `Bearer ${TEST_TOKEN}`;

  it('with a wrong token are limited to 100 a minute for each address', async () => {
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
    'with the token are limited to %s a minute, from any addresses',
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
