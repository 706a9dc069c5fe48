import { once } from 'node:events';
import { createServer, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createHostedLiveServer } from '../../lib/live/live-function.ts';
import { createPostgres } from '../support/databases.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { insertLog } from '../support/records.ts';

const running: { close(): unknown }[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const { close } of running.splice(0)) await close();
});

/** A platform that listens, and passes requests and upgrades to a server that does not listen itself. */
async function host(server: Server): Promise<string> {
  const platform = createServer((request, response) => server.emit('request', request, response));
  platform.on('upgrade', (request, socket, head) => server.emit('upgrade', request, socket, head));
  const sockets = new Set<Socket>();
  platform.on('connection', (socket) => sockets.add(socket));
  platform.listen(0, '127.0.0.1');
  await once(platform, 'listening');
  running.push({
    close() {
      for (const socket of sockets) socket.destroy();
      platform.close();
    },
  });
  return `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
}

async function createHosted(environment: Record<string, string>) {
  const lines: string[] = [];
  const { server } = await createHostedLiveServer(environment, (line) => lines.push(line));
  const url = await host(server);
  const status = async (path: string) =>
    (await fetch(`${url}${path}`, { headers: withSecret })).status;
  return { url, lines, status };
}

async function statusOfHandshake(url: string): Promise<number | undefined> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/live`, { headers: withSecret });
  const [, response] = await once(ws, 'unexpected-response');
  return response.statusCode;
}

it('the function api/live.ts serves streams and WebSockets from one poller until the platform stops it', async () => {
  const database = await createPostgres();
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('INTERNAL_SECRET', TEST_SECRET);
  vi.stubEnv('LOG_LEVEL', 'error');
  const { default: server } = await import('../../api/live.ts');
  expect(server).toBeInstanceOf(Server);
  expect(server.listening).toBe(false);
  const url = await host(server);

  const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/live`, { headers: withSecret });
  await once(ws, 'open');
  const messages: string[] = [];
  ws.on('message', (data) => messages.push(String(data)));
  const stream = await fetch(`${url}/api/logs/stream?after_id=0`, { headers: withSecret });
  expect(stream.status).toBe(200);
  await insertLog(database.db, { message: 'hello' });

  let text = '';
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('event: log')) break;
  }
  await vi.waitFor(() => expect(messages).toHaveLength(1), { timeout: 120_000 });
  expect(text).toContain(`data: ${messages[0]}\n\n`);
  const closed = once(ws, 'close');
  process.emit('SIGTERM');
  expect((await closed)[0]).toBe(1001);
  await database.close();
});

describe('an invalid variable', () => {
  it('is logged by name, without its value, and causes 503', async () => {
    const { url, lines, status } = await createHosted({
      WS_ALLOWED_ORIGINS: 'definitely not an origin',
      INTERNAL_SECRET: TEST_SECRET,
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('WS_ALLOWED_ORIGINS');
    expect(lines[0]).not.toContain('definitely');
    expect(await status('/api/logs/stream')).toBe(503);
    expect(await statusOfHandshake(url)).toBe(503);
  });
});

it.each([
  ['DATABASE_URL', { INTERNAL_SECRET: TEST_SECRET }, 'DATABASE_URL is not set'],
  ['INTERNAL_SECRET', {}, 'INTERNAL_SECRET'],
])(
  'the function answers 503 without %s, and logs the reason',
  async (_name, environment, words) => {
    const { url, lines, status } = await createHosted(environment);
    expect(await status('/api/logs/stream')).toBe(503);
    expect(await statusOfHandshake(url)).toBe(503);
    expect(lines.join()).toContain(words);
  },
);

it('the function counts clients by the address that the platform reports', async () => {
  const { url } = await createHosted({ INTERNAL_SECRET: TEST_SECRET });
  const ask = async (ip: string) =>
    (await fetch(`${url}/api/logs/stream`, { headers: { 'x-real-ip': ip } })).status;
  for (let n = 0; n < 100; n++) await ask('203.0.113.1');
  expect(await ask('203.0.113.1')).toBe(429);
  expect(await ask('203.0.113.2')).toBe(401);
});
