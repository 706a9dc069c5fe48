import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccessRow, callers, readAccessTable } from '../../scripts/tables/access-table.ts';
import { type AccessWorld, startAccessWorld } from './access-world.ts';
import { ask, type PlainAnswer } from './ask.ts';

// Requests that the access table does not list: other methods, other spellings of its paths, unknown paths, and
// forged headers. None of them works without a credential.

const table = readAccessTable();
const isPublic = (row: AccessRow) => row.access.nobody === 'yes';
const guarded = table.filter((row) => !isPublic(row));
const withIds = (path: string) => path.replace(':id', '1');
const paths = [...Map.groupBy(table, ({ path }) => path)];
const withHead = (method: string) => (method === 'GET' ? ['GET', 'HEAD'] : [method]);
/** Whether a path also matches the pattern of another route: `/reports/send` could be the id of a report. */
const isOfPattern = (method: string, path: string) =>
  table.some(
    (row) =>
      withHead(row.method).includes(method) &&
      new RegExp(`^${row.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
  );

let world: AccessWorld;
let asked = 0;

beforeAll(async () => {
  world = await startAccessWorld();
});
afterAll(() => world.close());

function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<PlainAnswer> {
  asked += 1;
  const address = { 'X-Forwarded-For': `198.19.${asked >> 8}.${asked & 255}` };
  return ask(world.server.url, { method, path, headers: { ...address, ...headers } });
}

/** The headers of a caller who has access to a route. */
function headersFor(row: AccessRow | undefined): Record<string, string> {
  const caller = callers.findLast((it) => row?.access[it] === 'yes') ?? 'nobody';
  return world.ways[caller][0]?.headers ?? {};
}

describe.each(paths)('%s', (path, rows) => {
  const served = rows.map(({ method }) => method);
  const allowed = served.flatMap(withHead);
  const others = [
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
  ].filter((method) => !isOfPattern(method, withIds(path)));

  it('rejects every other method with 405 and the allowed methods, or 401 without a credential', async () => {
    const [row] = rows;
    for (const method of others) {
      const anonymous = await send(method, withIds(path));
      expect({ method, status: anonymous.status }).toEqual({
        method,
        status: row && isPublic(row) ? 405 : 401,
      });
      const known = await send(method, withIds(path), headersFor(row));
      expect({ method, status: known.status, allow: known.headers.allow }).toEqual({
        method,
        status: 405,
        allow: allowed.join(', '),
      });
    }
  });
});

it('requires the same credential for HEAD as for GET', async () => {
  for (const row of guarded.filter(({ method }) => method === 'GET')) {
    const { status } = await send('HEAD', withIds(row.path));
    expect({ path: row.path, status }).toEqual({ path: row.path, status: 401 });
  }
});

/** Other spellings of a path, most of which some servers treat as the same. */
const spellings: [string, (path: string) => string][] = [
  ['in upper case', (path) => path.toUpperCase()],
  ['with a trailing slash', (path) => `${path}/`],
  ['with two leading slashes', (path) => `/${path}`],
  ['with two slashes inside', (path) => path.replace(/(?!^)\//, '//')],
  ['with a dot segment', (path) => `/.${path}`],
  ['below a public path', (path) => `/health/..${path}`],
  ['below an encoded parent segment', (path) => `/health/%2e%2e${path}`],
  ['below the login', (path) => `/auth/login/..${path}`],
  ['with its first letter encoded', (path) => path.replace(/\/(\w)/, (_, it) => `/${encode(it)}`)],
  ['with its last letter encoded', (path) => path.replace(/(\w)$/, encode)],
  ['with an encoded slash', (path) => path.replace(/(?!^)\//, '%2F')],
  ['with a doubly encoded letter', (path) => path.replace(/(\w)$/, (it) => `%25${hex(it)}`)],
  ['with a NUL after it', (path) => `${path}%00`],
  ['with a line break after it', (path) => `${path}%0a`],
  ['with a parameter', (path) => `${path};x=/health`],
  ['with an extension', (path) => `${path}.json`],
  ['with backslashes', (path) => path.replaceAll('/', '\\')],
  ['with a fragment', (path) => `${path}#/health`],
  ['with a public path as query', (path) => `${path}?/health`],
  ['behind /observatory', (path) => `/observatory${path}`],
  ['behind /observatory twice', (path) => `/observatory/observatory${path}`],
  ['behind the name of its function', (path) => `/api/backups.ts${path}`],
  ['with a broken escape', (path) => `${path}%`],
  ['with bytes that are not UTF-8', (path) => `${path}%ff%fe`],
  ['as a URL of another host', (path) => `http://other.example${path}`],
];

function encode(letter: string): string {
  return `%${hex(letter)}`;
}
function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16);
}

describe.each(spellings)('a guarded path %s', (_name, spell) => {
  it('is not accessible without a credential', async () => {
    for (const { method, path } of guarded) {
      const spelled = spell(withIds(path));
      const { status } = await send(method, spelled);
      const isRefused = [400, 401, 404, 405].includes(status);
      expect({ method, spelled, status, isRefused }).toMatchObject({ isRefused: true });
    }
  });
});

it.each(['/api', '/api/', '/api/nope', '/api/internal/runs', '/api/cron/nope', '/api/logs/1/nope'])(
  'the unknown path %s requires the secret',
  async (path) => {
    expect((await send('GET', path)).status).toBe(401);
    const [way] = world.ways.internal;
    expect((await send('GET', path, way?.headers)).status).toBe(404);
  },
);

it.each(['/observatory/nope', '/sessions/1/nope', '/auth/nope', '/me/nope', '/chat/nope'])(
  'the unknown path %s requires a token',
  async (path) => {
    expect((await send('GET', path)).status).toBe(401);
    const [way] = world.ways.user;
    expect((await send('GET', path, way?.headers)).status).toBe(404);
  },
);

it.each([
  '/nope',
  '/.env',
  '/.data/local.env',
  '/.git/config',
  '/package.json',
  '/api.ts',
  '/ws/nope',
])('the path %s does not exist', async (path) => {
  expect((await send('GET', path)).status).toBe(404);
});

it.each<[string, Record<string, string>]>([
  ['another address', { 'X-Original-URL': '/health', 'X-Rewrite-URL': '/health' }],
  ['another method', { 'X-HTTP-Method-Override': 'OPTIONS', 'X-Method-Override': 'OPTIONS' }],
  [
    'this machine',
    { 'X-Forwarded-For': '127.0.0.1', 'X-Real-IP': '::1', Forwarded: 'for=127.0.0.1' },
  ],
  ['another user', { 'X-User': 'ada', 'X-Remote-User': 'ada', 'X-Forwarded-User': 'ada' }],
  ['the platform', { 'X-Vercel-Cron': '1', 'User-Agent': 'vercel-cron/1.0', 'X-Vercel-Id': 'x' }],
  ['an inner request', { 'X-Middleware-Subrequest': 'src/middleware', 'X-Internal': 'true' }],
  [
    'the page of the dashboard',
    { Origin: 'http://localhost:3000', Referer: 'http://localhost:8080/' },
  ],
])('a header that claims to be %s does not grant access', async (_name, headers) => {
  for (const [index, { method, path }] of guarded.entries()) {
    // Another address of this machine each time, so that no limit is reached.
    const claimed = Object.entries(headers).map(
      ([name, value]) => [name, value.replaceAll('127.0.0.1', `127.0.${index}.1`)] as const,
    );
    const { status } = await send(method, withIds(path), Object.fromEntries(claimed));
    // MCP rejects the Origin of a page before it checks the token.
    expect({ path, status: [401, 403].includes(status) }).toEqual({ path, status: true });
  }
});

it('a second request hidden in the body of a first is not served', async () => {
  const hidden = 'GET /api/backups HTTP/1.1\r\nHost: x\r\n\r\n';
  for (const framing of [
    `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked`,
    `Transfer-Encoding: chunked, identity`,
    `Content-Length: 0\r\nContent-Length: ${hidden.length}`,
    'Transfer-Encoding: \x0bchunked',
  ]) {
    const socket = connect(Number(new URL(world.server.url).port), '127.0.0.1');
    socket.end(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n${hidden}`, 'latin1');
    const answer = await text(socket);
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400']);
  }
});
