import { once } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readText } from '../../lib/http/request-body.ts';
import { type RunningServer, type ServeOptions, serveNode } from '../../lib/http/server/serve.ts';
import { createSurface, protect } from '../../lib/http/surface.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';
import { connectRaw } from '../support/raw-client.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

async function serve(options: Partial<ServeOptions> = {}) {
  const deps = createTestDeps();
  const app = createSurface(deps);
  app.use('/api/*', ...protect(deps, { maxBodyBytes: 1000 }));
  app.get('/who', (c) => c.text(c.get('clientAddress')));
  app.post('/api/things', async (c) => c.text(String((await readText(c)).length)));
  const server = await serveNode({
    fetch: app.fetch,
    host: '127.0.0.1',
    port: 0,
    log: deps.log,
    clock: deps.clock,
    ...options,
  });
  running.push(server);
  return { ...server, deps };
}

/** Sends bytes and returns the whole response once the server has closed the connection. */
async function exchange(port: number, bytes: string) {
  const client = await connectRaw(port);
  client.send(bytes);
  return client.ended();
}

/** The body of a raw response, after checking that its request id equals the header's. */
function bodyOf(answer: string): { error: string; request_id: string } {
  const body = JSON.parse(answer.slice(answer.indexOf('{')));
  expect(answer.toLowerCase()).toContain(`x-request-id: ${body.request_id}`);
  return body;
}

describe('the server', () => {
  it('returns its URL', async () => {
    const { url, port } = await serve();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${url}/who`)).status).toBe(200);
  });

  it('does not log a failure if a client disconnects while sending its body', async () => {
    const { port, deps } = await serve();
    const client = await connectRaw(port);
    const secret = Object.entries(withSecret).map(([name, value]) => `${name}: ${value}`);
    client.send(
      `POST /api/things HTTP/1.1\r\nHost: a\r\n${secret}\r\nContent-Length: 100\r\n\r\n{`,
    );
    await vi.waitFor(async () =>
      expect(await deps.metrics.render()).toContain('http_requests_in_flight 1'),
    );
    client.socket.destroy();
    await vi.waitFor(async () =>
      expect(await deps.metrics.render()).toContain(
        'method="POST",route="unmatched",status="400"} 1',
      ),
    );
    expect(deps.logged).toEqual([]);
  });

  it('takes the address of the peer from the connection', async () => {
    const { url } = await serve();
    const headers = { 'X-Forwarded-For': '198.51.100.1', 'X-Real-IP': '198.51.100.1' };
    expect(await (await fetch(`${url}/who`, { headers })).text()).toBe('127.0.0.1');
  });

  it('names PORT if the port is taken', async () => {
    const { port } = await serve();
    await expect(serve({ port })).rejects.toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        message: expect.stringMatching(new RegExp(`^PORT ${port} is already in use[^\n]*$`)),
      }),
    );
  });

  it('names HOST if it is not an address of this machine', async () => {
    await expect(serve({ host: '203.0.113.1' })).rejects.toThrow(
      expect.objectContaining({ name: 'ConfigError', message: expect.stringContaining('HOST') }),
    );
  });

  it('responds to HEAD without a body and keeps the connection usable', async () => {
    const { port } = await serve();
    const answer = await exchange(
      port,
      'HEAD /who HTTP/1.1\r\nHost: a\r\n\r\nGET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(answer.match(/127\.0\.0\.1/g)).toHaveLength(1);
  });

  it('returns 500 with the envelope when the app itself fails', async () => {
    const { url, deps } = await serve({
      fetch: () => {
        throw new Error('private');
      },
    });
    const response = await fetch(url);
    expect(response.status).toBe(500);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ success: false, error: { code: 'INTERNAL_ERROR' } });
    expect(body).not.toContain('private');
    expect(deps.logged).toMatchObject([{ level: 'error', error: { message: 'private' } }]);
  });

  it('keeps working after a client disconnects during its request', async () => {
    let aborted: () => void = () => undefined;
    const seen = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    const { url, port } = await serve({
      fetch: async (request) => {
        if (new URL(request.url).pathname === '/who') return new Response('still here');
        await once(request.signal, 'abort');
        aborted();
        return new Response('too late');
      },
    });
    const client = await connectRaw(port);
    client.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    const other = await fetch(`${url}/who`);
    client.socket.destroy();
    await seen;
    expect(await other.text()).toBe('still here');
    expect((await fetch(`${url}/who`)).status).toBe(200);
  });
});

describe('a request that is too large', () => {
  it('gets 431 if its headers are', async () => {
    const { port, url } = await serve();
    const answer = await exchange(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(bodyOf(answer).error).toBe('the request headers are too large');
    expect((await fetch(`${url}/who`)).status).toBe(200);
  });

  it('gets 431 if its URL is', async () => {
    const { port } = await serve({ limits: { maxHeaderBytes: 2_000 } });
    expect(await exchange(port, `GET /${'x'.repeat(3_000)} HTTP/1.1\r\nHost: a\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it('gets 413 if its body is, declared or not', async () => {
    const { url } = await serve();
    const body = 'x'.repeat(1001);
    const declared = await fetch(`${url}/api/things`, {
      method: 'POST',
      headers: withSecret,
      body,
    });
    expect(declared.status).toBe(413);
    const streamed = await fetch(`${url}/api/things`, {
      method: 'POST',
      headers: withSecret,
      body: new Blob([body]).stream(),
      duplex: 'half',
    });
    expect(streamed.status).toBe(413);
  });

  it.each([
    ['declared', 'Content-Length: 1048576', 'x'.repeat(0x100000)],
    [
      'not declared',
      'Transfer-Encoding: chunked',
      `100000\r\n${'x'.repeat(0x100000)}\r\n0\r\n\r\n`,
    ],
  ])(
    'leaves its connection usable for the next one if its body is, %s',
    async (_, header, body) => {
      const { port } = await serve();
      const client = await connectRaw(port);
      const secret = Object.entries(withSecret).map(([name, value]) => `${name}: ${value}`);
      client.send(`POST /api/things HTTP/1.1\r\nHost: a\r\n${secret}\r\n${header}\r\n\r\n`);
      client.send(body);
      await client.until(/HTTP\/1.1 413/);
      client.send('GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      expect(await client.ended()).toContain('HTTP/1.1 200');
    },
  );

  it('is accepted up to the limit', async () => {
    const { url } = await serve();
    const body = 'x'.repeat(1000);
    const response = await fetch(`${url}/api/things`, {
      method: 'POST',
      headers: withSecret,
      body,
    });
    expect(await response.text()).toBe('1000');
  });
});

describe('malformed bytes', () => {
  it.each<[string, string]>([
    ['that are not a request', '\x00\x01\x02\r\n\r\n'],
    ['a NUL byte in the path', 'GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a NUL byte in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n'],
    [
      'two content lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    [
      'a content length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a malformed host', 'GET / HTTP/1.1\r\nHost: a b/c\r\nConnection: close\r\n\r\n'],
    ['a host of numbers that is not an address', 'GET / HTTP/1.1\r\nHost: 999.1.1.1\r\n\r\n'],
    ['an invalid path', 'GET x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a backslash', 'GET /\\..\\x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a malformed absolute URL', 'GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('get 400: %s', async (_name, bytes) => {
    const { port, url } = await serve();
    const answer = await exchange(port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(bodyOf(answer).error).toBe('malformed request');
    expect((await fetch(`${url}/who`)).status).toBe(200);
  });

  it('in the middle of a body get an error with a body, even if they look like HEAD', async () => {
    const { port } = await serve();
    const client = await connectRaw(port);
    const secret = `X-Internal-Secret: ${withSecret['X-Internal-Secret']}`;
    const head = `POST /api/things HTTP/1.1\r\nHost: a\r\n${secret}`;
    client.send(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`);
    expect((await fetch(`http://127.0.0.1:${port}/who`)).status).toBe(200);
    client.send('HEAD zz\r\n');
    const answer = await client.ended();
    expect(answer).toContain('HTTP/1.1 400 Bad Request');
    expect(bodyOf(answer).error).not.toBe('');
  });

  it.each(['', '\r\n'])(
    'in a HEAD request after %j get a response without a body',
    async (start) => {
      const { port } = await serve();
      const answer = await exchange(port, `${start}HEAD /\xdf HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
      expect(answer.indexOf('\r\n\r\n')).toBe(answer.length - 4);
    },
  );

  it.each([
    'GET / HTTP/1.1\r\nHost: 1.2.3.4.5',
    'GET / HTTP/1.1\r\nHost: a/b',
    'GET / HTTP/1.1\r\nHost: user@a',
    'GET / HTTP/1.1\r\nHost: %61',
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b',
    'POST http://user:password@a/ HTTP/1.1\r\nHost: a',
    'GET /\\ HTTP/1.1\r\nHost: a',
    'OPTIONS * HTTP/1.1\r\nHost: a',
    'GET http://[/ HTTP/1.1\r\nHost: a',
    'GET ftp://a/ HTTP/1.1\r\nHost: a',
  ])('get a response with their own request id: %s', async (head) => {
    const { port } = await serve();
    const answer = await exchange(port, `${head}\r\nX-Request-ID: mine\r\n\r\n`);
    expect(answer).toContain('HTTP/1.1 400 Bad Request');
    expect(bodyOf(answer).request_id).toBe('mine');
  });

  it('in a body count as the client’s fault in metrics and log', async () => {
    const { port, deps } = await serve();
    const head = 'POST /api/things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n';
    const secret = `X-Internal-Secret: ${withSecret['X-Internal-Secret']}\r\n\r\n`;
    const client = await connectRaw(port);
    client.send(`${head}${secret}5\r\nhello\r\n`);
    client.socket.destroy();
    await vi.waitFor(async () => expect(await deps.metrics.render()).toContain('status="400"} 1'));
    expect(deps.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each<[string, number]>([
    ['GET http://other.example/who HTTP/1.1\r\nHost: a', 200],
    ['GET /who%00%zz HTTP/1.1\r\nHost: a', 404],
    ['TRACE /who HTTP/1.1\r\nHost: a', 404],
    ['PROPFIND /who HTTP/1.1\r\nHost: a', 404],
    ['GET /who HTTP/1.1\r\nHost: a\r\nExpect: the-moon', 200],
    ['GET /who HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: upgrade', 200],
    ['GET /who HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade', 200],
    ['GET /nowhere HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade', 404],
    ['GET /who HTTP/1.1\r\nHost: a b/c\r\nUpgrade: websocket\r\nConnection: upgrade', 400],
  ])('differ from unusual but valid requests: %s', async (head, status) => {
    const { port } = await serve();
    const client = await connectRaw(port);
    client.send(`${head}\r\n\r\n`);
    const answer = await client.until(/\r\n\r\n/);
    client.socket.destroy();
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.toLowerCase()).toContain('x-request-id: ');
  });
});
