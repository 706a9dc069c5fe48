import { afterEach, describe, expect, it } from 'vitest';
import { type TestDepsOptions, withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { type LiveServer, requestOf, startLive } from '../support/live.ts';
import { connectRaw } from '../support/raw-client.ts';

const database = useDatabase();
const running: LiveServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function start(options: TestDepsOptions = {}): Promise<LiveServer> {
  const server = await startLive({ db: database.db, ...options });
  running.push(server);
  return server;
}

const handshake = {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
};

/** The status and the head of the answer. */
async function ask(server: LiveServer, path: string, headers: Record<string, string>) {
  const client = await connectRaw(server.port);
  client.send(requestOf(path, headers));
  const answer = await client.until(/\r\n\r\n/);
  client.socket.destroy();
  return { status: Number(answer.slice(9, 12)), head: answer.toLowerCase() };
}

describe.each<[string, Record<string, string>, number]>([
  ['/api/logs/stream', {}, 200],
  ['/ws/live', handshake, 101],
])('%s', (path, basis, opened) => {
  it.each<[string, Record<string, string>]>([
    ['X-Internal-Secret', withSecret],
    ['a bearer token', { Authorization: `Bearer ${withSecret['X-Internal-Secret']}` }],
  ])('opens with the secret as %s', async (_name, headers) => {
    expect((await ask(await start(), path, { ...basis, ...headers })).status).toBe(opened);
  });

  it.each<[string, Record<string, string>]>([
    ['no secret', {}],
    ['a wrong secret', { 'X-Internal-Secret': 'wrong' }],
    ['a wrong bearer token', { Authorization: 'Bearer wrong' }],
    ['the secret in the address', {}],
  ])('answers 401 to %s', async (name, headers) => {
    const query = name.includes('address') ? `?secret=${withSecret['X-Internal-Secret']}` : '';
    const { status, head } = await ask(await start(), `${path}${query}`, { ...basis, ...headers });
    expect(status).toBe(401);
    expect(head).toContain('www-authenticate: bearer realm=backup-api');
  });

  it('checks the secret before any other input', async () => {
    const headers = { ...basis, Origin: 'https://evil.example', 'Last-Event-ID': 'x' };
    expect((await ask(await start(), path, headers)).status).toBe(401);
  });

  it('needs no secret with API_REQUIRE_AUTH=false', async () => {
    const server = await start({ environment: { API_REQUIRE_AUTH: 'false' } });
    expect((await ask(server, path, basis)).status).toBe(opened);
  });

  it('answers 503 when no usable secret is configured', async () => {
    const server = await start({ environment: { INTERNAL_SECRET: 'too short' } });
    const headers = { ...basis, 'X-Internal-Secret': 'too short' };
    expect((await ask(server, path, headers)).status).toBe(503);
  });

  it('limits requests without the secret before it checks for one', async () => {
    const server = await start();
    for (let n = 0; n < 100; n++) expect((await ask(server, path, basis)).status).toBe(401);
    const { status, head } = await ask(server, path, basis);
    expect(status).toBe(429);
    expect(head).toContain('retry-after: ');
  });

  it('limits forwarded addresses, and reports how many requests are left', async () => {
    const server = await start();
    const headers = { ...basis, ...withSecret, 'X-Forwarded-For': '203.0.113.7' };
    const { status, head } = await ask(server, path, headers);
    expect(status).toBe(opened);
    expect(head).toContain('ratelimit-remaining: 299');
  });

  it.each(['POST', 'DELETE'])('answers 405 to %s', async (method) => {
    const { url } = await start();
    const response = await fetch(`${url}${path}`, { method, headers: withSecret });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });
});
