import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type RunningServer, type ServeOptions, serveNode } from '../../lib/http/server/serve.ts';
import { createTestDeps } from '../support/deps.ts';
import { connectRaw } from '../support/raw-client.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

async function serve(options: Partial<ServeOptions> = {}) {
  const deps = createTestDeps();
  const server = await serveNode({
    fetch: () => new Response('served'),
    host: '127.0.0.1',
    port: 0,
    log: deps.log,
    clock: deps.clock,
    ...options,
  });
  running.push(server);
  return { ...server, deps };
}

const getRequest = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** A promise and its resolver. */
function createGate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe('the read timeout', () => {
  const limits = { readTimeoutMs: 60, checkIntervalMs: 10 };

  it.each([
    ['sends nothing', ''],
    ['sends its headers too slowly', 'GET / HTTP/1.1\r\nX: '],
    ['sends its body too slowly', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx'],
  ])('disconnects a client that %s', async (_name, bytes) => {
    const { port } = await serve({
      limits,
      fetch: async (request) => new Response(await request.text()),
    });
    const client = await connectRaw(port);
    client.send(bytes);
    const answer = await client.ended();
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('the request did not arrive in time');
  });

  it('does not limit the duration of a response', async () => {
    const gate = createGate();
    const { port } = await serve({
      limits,
      fetch: async () => {
        await gate.opened;
        return new Response('late');
      },
    });
    const client = await connectRaw(port);
    client.send(getRequest);
    const idle = await connectRaw(port);
    await idle.ended();
    gate.open();
    expect(await client.until(/late/)).toMatch(/^HTTP\/1\.1 200 /);
    client.socket.destroy();
  });
});

describe('keep-alive', () => {
  it('is announced as two minutes', async () => {
    const { url } = await serve();
    expect((await fetch(url)).headers.get('Keep-Alive')).toMatch(/^timeout=120, max=\d+$/);
  });

  it('closes an idle connection after its timeout', async () => {
    const { port } = await serve({ limits: { keepAliveMs: 50 } });
    const client = await connectRaw(port);
    client.send(getRequest);
    expect(await client.ended()).toContain('served');
  });
});

describe('shutdown', () => {
  /** A server whose responses wait for a gate. `started` resolves with the first request. */
  async function serveGated() {
    const [gate, started] = [createGate(), createGate()];
    const server = await serve({
      fetch: async () => {
        started.open();
        await gate.opened;
        return new Response('finished');
      },
    });
    return { ...server, gate, started };
  }

  it('closes idle connections at once', async () => {
    const { port, close } = await serve();
    const client = await connectRaw(port);
    client.send(getRequest);
    await client.until(/served/);
    await Promise.all([close(), client.ended()]);
  });

  it('closes connections without a request at once', async () => {
    const { url, port, close } = await serve();
    const client = await connectRaw(port);
    // Connections are accepted in order, so the first one has been accepted too.
    await (await fetch(url)).text();
    await Promise.all([close(), client.ended()]);
    expect(client.received()).toBe('');
  });

  it('accepts no new connections', async () => {
    const { port, close, gate, started } = await serveGated();
    const client = await connectRaw(port);
    client.send(getRequest);
    await started.opened;
    const closed = close();
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    gate.open();
    await closed;
  });

  it('finishes a running request and ends its connection', async () => {
    const { port, close, gate, started, deps } = await serveGated();
    const client = await connectRaw(port);
    client.send(getRequest);
    await started.opened;
    const closed = close();
    gate.open();
    await closed;
    const answer = await client.ended();
    expect(answer).toContain('finished');
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(deps.logged).toEqual([]);
  });

  it('finishes a response whose headers were already sent', async () => {
    const rest = createGate();
    const { port, close } = await serve({
      fetch: () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              controller.enqueue(new TextEncoder().encode('first'));
              await rest.opened;
              controller.enqueue(new TextEncoder().encode('second'));
              controller.close();
            },
          }),
        ),
    });
    const client = await connectRaw(port);
    client.send(getRequest);
    await client.until(/first/);
    const closed = close();
    rest.open();
    await closed;
    expect(await client.ended()).toContain('second');
  });

  it('cuts off requests after ten seconds, and logs it', async () => {
    const { port, close, started, deps } = await serveGated();
    const client = await connectRaw(port);
    client.send(getRequest);
    await started.opened;
    const closed = close();
    deps.clock.advance(9_999);
    expect(client.socket.closed).toBe(false);
    deps.clock.advance(1);
    await closed;
    expect(await client.ended()).toBe('');
    expect(deps.logged).toMatchObject([{ level: 'warn', requests: 1 }]);
  });

  it('may be requested twice', async () => {
    const { close } = await serve();
    await Promise.all([close(), close()]);
    await close();
  });
});

describe('a client that does not read', () => {
  const body = new Uint8Array(16 * 1024 * 1024);

  it('is disconnected when no byte has moved for the time limit', async () => {
    const { port, deps } = await serve({
      limits: { stallMs: 1_600 },
      fetch: () => new Response(body),
    });
    const socket = connect(port, '127.0.0.1').pause();
    socket.write(getRequest);
    await expect
      .poll(() => deps.logged.map(({ message }) => message), { timeout: 60_000 })
      .toContain('ended a connection: its client does not read');
    socket.destroy();
  });

  it('is disconnected when too many bytes wait for all clients, and others are served', async () => {
    const { port, deps } = await serve({
      limits: { maxWaitingBytes: 20 * 1024 * 1024, checkIntervalMs: 20 },
      fetch: (request) => new Response(new URL(request.url).pathname === '/' ? body : 'small'),
    });
    const sockets = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').pause());
    for (const socket of sockets) socket.write(getRequest);
    const message = 'ended connections: too many bytes wait for clients';
    await expect.poll(() => deps.logged.map((record) => record.message)).toContain(message);
    expect(await (await fetch(`http://127.0.0.1:${port}/small`)).text()).toBe('small');
    for (const socket of sockets) socket.destroy();
  });

  it('keeps its connection while the server has nothing to send yet', async () => {
    const work = createGate();
    const { port } = await serve({
      limits: { stallMs: 1_000 },
      fetch: async () => {
        await work.opened;
        return new Response('done');
      },
    });
    const client = await connectRaw(port);
    client.send(getRequest);
    setTimeout(work.open, 2_500);
    expect(await client.until(/done/)).toContain('200 OK');
  });
});
