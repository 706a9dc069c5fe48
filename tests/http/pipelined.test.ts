import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { afterEach, describe, expect, it } from 'vitest';
import { createNodeServer, type RunningServer, serveNode } from '../../lib/http/server/serve.ts';
import { createTestDeps } from '../support/deps.ts';
import { requestOf } from '../support/live.ts';
import { connectRaw } from '../support/raw-client.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

type Fetch = (request: Request, env: HttpBindings) => Response | Promise<Response>;

async function serve(fetch: Fetch) {
  const deps = createTestDeps();
  const server = await serveNode({
    fetch,
    host: '127.0.0.1',
    port: 0,
    log: deps.log,
    clock: deps.clock,
  });
  running.push(server);
  return server;
}

const handshake = requestOf('/handshake', {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
});

describe('a handshake in the same packet as the previous request', () => {
  it('is answered in order, as an ordinary request', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await serve(async (request, { outgoing }) => {
      if (request.url.endsWith('/first')) await gate.promise;
      return new Response(`${new URL(request.url).pathname} ${outgoing.constructor.name};`);
    });
    const client = await connectRaw(server.port);
    client.send(requestOf('/first', {}) + handshake);
    // The server works, and has not answered the second request before the first.
    expect((await fetch(`${server.url}/other`)).status).toBe(200);
    expect(client.received()).toBe('');
    gate.resolve();
    const answers = await client.until(/\/handshake ServerResponse;/);
    expect(answers.indexOf('/first ServerResponse;')).toBeGreaterThan(0);
    client.socket.destroy();
  });

  it('ends the connection if a platform hands it over as an upgrade anyway', async () => {
    const deps = createTestDeps();
    const arrived = Promise.withResolvers<void>();
    const { server } = createNodeServer({
      fetch: () => {
        arrived.resolve();
        return new Promise(() => undefined);
      },
      log: deps.log,
      clock: deps.clock,
    });
    const platform = createServer((request, response) => server.emit('request', request, response));
    platform.on('upgrade', (...upgrade) => server.emit('upgrade', ...upgrade));
    platform.listen(0, '127.0.0.1');
    await once(platform, 'listening');
    const client = await connectRaw((platform.address() as AddressInfo).port);
    client.send(requestOf('/first', {}));
    await arrived.promise;
    client.send(handshake);
    expect(await client.ended()).toBe('');
    platform.close();
  });

  it('is accepted once the previous response has ended', async () => {
    const server = await serve(
      (_request, { outgoing }) => new Response(`${outgoing.constructor.name};`),
    );
    const client = await connectRaw(server.port);
    client.send(requestOf('/first', {}));
    await client.until(/ServerResponse;/);
    client.send(handshake);
    await client.until(/UpgradeResponse;/);
  });
});

it('a client with a rejected handshake is cut off if it does not close its side', async () => {
  const server = await serve(() => new Response('refused', { status: 401 }));
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(handshake);
  socket.resume();
  await once(socket, 'end');
  // The client keeps its side open: without the cut neither this nor closing the server would ever finish.
  await server.close(0);
  socket.destroy();
});

it('a rejected handshake is released when its connection closes', async () => {
  const asked = Promise.withResolvers<HttpBindings['outgoing']>();
  const server = await serve((_request, { outgoing }) => {
    asked.resolve(outgoing);
    return new Response('refused', { status: 401 });
  });
  const client = await connectRaw(server.port);
  client.send(handshake);
  const answer = await asked.promise;
  const closed = once(answer, 'close');
  await closed;
  expect(answer.destroyed).toBe(true);
});

describe('requests in one packet', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => requestOf(`/${n}`, {})).join('');

  it('are answered in order', async () => {
    const server = await serve((request) => new Response(`${new URL(request.url).pathname};`));
    const client = await connectRaw(server.port);
    client.send(many(20));
    const answers = await client.until(/\/19;/);
    expect(answers.match(/\/\d+;/g)).toEqual(Array.from({ length: 20 }, (_, n) => `/${n};`));
    client.send(many(20));
    expect((await client.until(/\/19;[\s\S]*\/19;/)).match(/200 OK/g)).toHaveLength(40);
    client.socket.destroy();
  });

  it('end the connection after 1,000 of them, while other clients are served', async () => {
    const server = await serve((request) => new Response(`${new URL(request.url).pathname};`));
    const client = await connectRaw(server.port);
    client.send(many(20_000));
    await expect.poll(() => client.socket.closed, { timeout: 120_000 }).toBe(true);
    const answers = client.received();
    // The reset that ends the connection may overtake the last data.
    expect(answers.match(/200 OK/g)?.length).toBeLessThanOrEqual(1_000);
    expect(answers).toContain('200 OK');
    expect((await fetch(`${server.url}/other`)).status).toBe(200);
  });
});
