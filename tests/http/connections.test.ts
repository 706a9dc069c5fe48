import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type ConnectionLimits,
  chooseConnectionLimits,
} from '../../lib/http/server/open-connections.ts';
import { type RunningServer, serveNode } from '../../lib/http/server/serve.ts';
import { UpgradeResponse } from '../../lib/http/server/upgrade.ts';
import { parseNetworks } from '../../lib/text/network.ts';
import { createTestDeps } from '../support/deps.ts';

// Uses real sockets, also from 127.0.0.2, which is another address of this machine.

const running: RunningServer[] = [];
const opened: Socket[] = [];
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

/** A server whose response to `/hold` never ends. */
async function serve(limits: Partial<ConnectionLimits>) {
  const { log, clock, logged } = createTestDeps();
  const server = await serveNode({
    fetch: (request) => new Response(request.url.endsWith('/hold') ? new ReadableStream() : 'ok'),
    host: '0.0.0.0',
    port: 0,
    log,
    clock,
    connections: { total: 1_000, perAddress: 1_000, shared: [], ...limits },
  });
  running.push(server);
  return { ...server, logged };
}

async function open({ port }: RunningServer, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => socket.destroy());
  opened.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** The head of the response to a request on a connection; empty if the server closed it instead. */
async function ask(socket: Socket, path = '/'): Promise<string> {
  let head = '';
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  while (!head.includes('\r\n\r\n') && !socket.destroyed) {
    const [chunk = ''] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [
      unknown,
    ];
    if (Buffer.isBuffer(chunk)) head += chunk.toString('latin1');
  }
  return head.split('\r\n')[0] ?? '';
}

async function openMany(server: RunningServer, count: number, localAddress?: string) {
  return Promise.all(Array.from({ length: count }, () => open(server, localAddress)));
}

const isServed = async (socket: Socket) => (await ask(socket)) === 'HTTP/1.1 200 OK';
const stillOpen = (sockets: Socket[]) => sockets.filter(({ destroyed }) => !destroyed).length;

describe('the connections of one address', () => {
  it('do not block it while idle, however many it opens', async () => {
    const server = await serve({ perAddress: 50 });
    const idle = await openMany(server, 300);
    expect(await isServed(await open(server))).toBe(true);
    await vi.waitFor(() => expect(stillOpen(idle)).toBe(49));
  });

  it('are limited while all are in use, leaving room for other addresses', async () => {
    const server = await serve({ perAddress: 50 });
    for (const socket of await openMany(server, 50)) await ask(socket, '/hold');
    expect(await ask(await open(server))).toBe('');
    expect(await isServed(await open(server, '127.0.0.2'))).toBe(true);
    expect(server.logged).toEqual([
      {
        level: 'warn',
        message: 'rejected a connection: too many are open',
        address: '127.0.0.1',
        time: expect.anything(),
      },
    ]);
  });

  it('replace the one that has been idle longest', async () => {
    const server = await serve({ perAddress: 3 });
    const [first, second, third] = [await open(server), await open(server), await open(server)];
    await isServed(first);
    expect(await isServed(await open(server))).toBe(true);
    await vi.waitFor(() => expect(second.destroyed).toBe(true));
    expect([first.destroyed, third.destroyed]).toEqual([false, false]);
  });

  it('no longer count once closed', async () => {
    const server = await serve({ perAddress: 2 });
    const held = await openMany(server, 2);
    for (const socket of held) await ask(socket, '/hold');
    for (const socket of held) socket.destroy();
    await vi.waitFor(async () => expect(await isServed(await open(server))).toBe(true));
  });

  it('are not limited if it is a trusted proxy', async () => {
    const server = await serve({ perAddress: 5, shared: parseNetworks(['127.0.0.2']) });
    const held = await openMany(server, 20, '127.0.0.2');
    for (const socket of held) expect(await ask(socket, '/hold')).toBe('HTTP/1.1 200 OK');
  });

  it('still count after an upgrade to a WebSocket', async () => {
    const { log, clock } = createTestDeps();
    const server = await serveNode({
      fetch: (_request, { outgoing }) => {
        if (!(outgoing instanceof UpgradeResponse)) return new Response('no upgrade');
        const { socket } = outgoing.takeConnection();
        socket.resume().once('end', () => socket.destroy());
        socket.write('taken');
        return RESPONSE_ALREADY_SENT;
      },
      host: '127.0.0.1',
      port: 0,
      log,
      clock,
      connections: { total: 100, perAddress: 2, shared: [] },
    });
    running.push(server);
    const taken = await openMany(server, 2);
    for (const socket of taken) {
      socket.write(
        'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
      );
      expect(String(await once(socket, 'data'))).toBe('taken');
    }
    expect(await ask(await open(server))).toBe('');
    expect(stillOpen(taken)).toBe(2);
  });
});

describe('the connections of all addresses', () => {
  it('are limited to the total, including proxies, and replace idle ones', async () => {
    const server = await serve({ total: 20, shared: parseNetworks(['127.0.0.2']) });
    const held = await openMany(server, 19, '127.0.0.2');
    for (const socket of held) await ask(socket, '/hold');
    const idle = await open(server);
    expect(await isServed(await open(server, '127.0.0.3'))).toBe(true);
    await vi.waitFor(() => expect(idle.destroyed).toBe(true));
  });

  it('are rejected while all are in use', async () => {
    const server = await serve({ total: 20 });
    for (const socket of await openMany(server, 20)) await ask(socket, '/hold');
    expect(await ask(await open(server, '127.0.0.2'))).toBe('');
  });
});

describe('the connection limits of a process', () => {
  it.each([
    [1_024, { total: 768, perAddress: 384 }],
    [1_048_576, { total: 4_096, perAddress: 1_024 }],
    [Number.POSITIVE_INFINITY, { total: 4_096, perAddress: 1_024 }],
    [3, { total: 2, perAddress: 1 }],
  ])('stay below its limit of %d files', (files, expected) => {
    expect(chooseConnectionLimits([], files)).toMatchObject(expected);
  });

  it('depend on its own limit of files', () => {
    const { total, perAddress } = chooseConnectionLimits([]);
    expect(total).toBeGreaterThan(perAddress);
    expect(perAddress).toBeGreaterThan(0);
  });
});
