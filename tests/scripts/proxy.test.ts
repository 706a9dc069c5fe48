import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { ConfigError } from '../../lib/config/read.ts';
import { type LocalServer, startLocalServer } from '../../scripts/local-server.ts';
import { createEmbedded } from '../support/databases.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { useDatabase } from '../support/hooks.ts';
import { TEST_TOKEN, withToken } from '../support/mcp.ts';
import { hasNginx, type Nginx, startNginx } from '../support/nginx.ts';
import { ADA, observatoryEnvironment } from '../support/observatory-client.ts';

// What programs and browsers get from the server of `npm start` below a path of a real nginx.

const database = useDatabase(createEmbedded);
const start = (environment: Record<string, string>) =>
  startLocalServer({
    ...observatoryEnvironment,
    DATABASE_URL: database.url,
    INTERNAL_SECRET: TEST_SECRET,
    MCP_AUTH_TOKEN: TEST_TOKEN,
    PATH: process.env.PATH,
    PORT: '0',
    LOG_LEVEL: 'error',
    ...environment,
  });

/** The n-th example of nginx in the document, with the port of a test. */
const documented = (n: number, port: string) =>
  codeBlocks(readDocument('docs/deploy.md'), 'nginx')[n]?.replace('8080', port) ?? '';

describe.skipIf(!hasNginx).each([
  ['keeps', ''],
  ['removes', '/'],
])('below a path that the proxy %s (skipped without nginx)', (_what, end) => {
  let server: LocalServer;
  let nginx: Nginx;
  let site: string;

  beforeAll(async () => {
    server = await start({ BASE_PATH: '/backup', TRUSTED_PROXIES: '127.0.0.1' });
    const { port } = new URL(server.url);
    nginx = await startNginx(
      documented(1, port)
        .replace(`${port};`, `${port}${end};`)
        .replace('$scheme', '$http_x_test_scheme'),
    );
    site = `http://127.0.0.1:${nginx.port}/backup`;
  });
  afterAll(async () => {
    await nginx.close();
    await server.close();
  });

  const logIn = (headers: Record<string, string> = {}) =>
    fetch(`${site}/auth/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(ADA),
    });

  it('a browser is led to the page', async () => {
    const answer = await fetch(`${site}/`, {
      headers: { Accept: 'text/html' },
      redirect: 'manual',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/backup/app/']);
  });

  it('the session cookie is sent to nothing else of the proxy', async () => {
    const [cookie = ''] = (await logIn()).headers.getSetCookie();
    expect(cookie).toMatch(
      /^backup-observatory=[^;]+;.* Path=\/backup; HttpOnly; SameSite=Strict$/,
    );
    const me = await fetch(`${site}/auth/me`, { headers: { Cookie: cookie.split(';')[0] ?? '' } });
    expect(me.status).toBe(200);
  });

  it('the session cookie is bound to https, and is ended by a logout', async () => {
    const https = { 'X-Test-Scheme': 'https' };
    const [cookie = ''] = (await logIn(https)).headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Secure-backup-observatory=[^;]+;.* Path=\/backup; HttpOnly; Secure; SameSite=Strict$/,
    );
    const headers = {
      ...https,
      Cookie: cookie.split(';')[0] ?? '',
      'Sec-Fetch-Site': 'same-origin',
    };
    expect((await fetch(`${site}/auth/me`, { headers })).status).toBe(200);
    const ended = await fetch(`${site}/auth/session`, { method: 'DELETE', headers });
    expect(ended.headers.getSetCookie()).toContainEqual(
      expect.stringMatching(/^__Secure-backup-observatory=; Max-Age=0; Path=\/backup;.* Secure/),
    );
    expect((await fetch(`${site}/auth/me`, { headers })).status).toBe(401);
  });

  it.each([
    ['streamable HTTP', () => new StreamableHTTPClientTransport(new URL(`${site}/mcp`), withAuth)],
    ['SSE', () => new SSEClientTransport(new URL(`${site}/sse`), withAuth)],
  ])('MCP works over %s', async (_transport, connect) => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(connect());
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    await client.close();
  });
  const withAuth = { requestInit: { headers: withToken } };

  it('the live feed works over a WebSocket', async () => {
    const socket = new WebSocket(`${site.replace('http', 'ws')}/ws/live`, {
      headers: { Authorization: `Bearer ${TEST_SECRET}` },
    });
    await once(socket, 'open');
    socket.close();
    await once(socket, 'close');
  });

  it('the configuration and the login link have the path', async () => {
    const [cookie = ''] = (await logIn()).headers.getSetCookie();
    const answer = await fetch(`${site}/config`, {
      headers: { Cookie: cookie.split(';')[0] ?? '' },
    });
    expect(await answer.json()).toMatchObject({ data: { mcp: { path: '/backup/mcp' } } });
    expect(server.issueLoginLink()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/backup\/app\/login#/);
  });

  it('programs on the machine of the server can leave the path out', async () => {
    const { origin } = new URL(server.url);
    expect((await fetch(`${origin}/health`)).status).toBe(200);
    expect((await fetch(`${origin}/backup/health`)).status).toBe(200);
    expect((await fetch(`${origin}/backups/health`)).status).toBe(404);
  });
});

it.each(['/app', '/api/backup', '/mcp'])(
  'BASE_PATH %s is refused with the reason',
  async (path) => {
    await expect(start({ BASE_PATH: path })).rejects.toThrow(
      new ConfigError(
        `BASE_PATH must not begin with /${path.split('/')[1]}, which is a path of this server: use another one, such as /backup`,
      ),
    );
  },
);

it('a prefix is believed only of a trusted proxy', async () => {
  for (const [TRUSTED_PROXIES, expected] of [
    ['', '/app/'],
    ['127.0.0.1', '/backup/app/'],
  ] as const) {
    const server = await start({ TRUSTED_PROXIES });
    const answer = await fetch(server.url, {
      headers: { Accept: 'text/html', 'X-Forwarded-Prefix': '/backup/' },
      redirect: 'manual',
    });
    expect(answer.headers.get('location')).toBe(expected);
    for (const hostile of ['//evil.example', '/a"onload=', '/../x', 'https://evil.example']) {
      const odd = await fetch(`${server.url}/app/`, { headers: { 'X-Forwarded-Prefix': hostile } });
      expect(await odd.text()).not.toContain(hostile);
    }
    await server.close();
  }
});
