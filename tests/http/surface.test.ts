import { describe, expect, it } from 'vitest';
import { createSurface, protect } from '../../lib/http/surface.ts';
import { createTestDeps, TEST_SECRET, type TestDepsOptions, withSecret } from '../support/deps.ts';

function createApp(options: TestDepsOptions = {}) {
  const deps = createTestDeps(options);
  const app = createSurface(deps);
  app.use(
    '/api/*',
    ...protect(deps, { ownAccess: { '/api/own': (_c, next) => next() }, maxBodyBytes: 1000 }),
  );
  app.get('/open', (c) => c.text('open'));
  app.get('/page', (c) => c.html('<p>', 200, { 'Content-Security-Policy': 'style-src *' }));
  app.get('/api/own', (c) => c.text('own'));
  app.get('/api/things/:id', (c) => c.json({ id: c.req.param('id') }));
  // Mounted after a path that matches too: Hono uses another router for these, as for the apps of the product.
  app.get('/api/things/latest', (c) => c.text('latest'));
  app.post('/api/things', async (c) => c.text(await c.req.text()));
  app.get('/plain', () => new Response('raw'));
  return { app, deps };
}

describe('the request id', () => {
  const { app } = createApp();
  const idOf = async (id: string | null, path = '/open') => {
    const response = await app.request(path, {
      headers: id === null ? {} : { 'X-Request-ID': id },
    });
    return response.headers.get('X-Request-ID');
  };

  it.each(['a', 'A-b_c.9', 'x'.repeat(64)])('is kept if it is well formed: %s', async (id) => {
    expect(await idOf(id)).toBe(id);
  });

  it.each(['', 'x'.repeat(65), 'a b', 'a/b', 'ü', 'a,b', '<script>'])(
    'is replaced if it is malformed: %j',
    async (id) => {
      expect(await idOf(id)).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('differs between requests without one', async () => {
    expect(await idOf(null)).not.toBe(await idOf(null));
  });

  it.each(['/nowhere', '/api/things/1', '/plain'])('is on every response: %s', async (path) => {
    expect(await idOf('mine', path)).toBe('mine');
  });
});

describe('a path that looks like a pattern', () => {
  const { app } = createApp();

  // Hono decodes the path, so that an escaped form is the same.
  it.each(['/*', '/%2A', '/%2a', '/api/*', '/api/%2A', '/api/things/*', '/api/things/:id'])(
    'is a path like any other: %s',
    async (path) => {
      const response = await app.request(path);
      const answer = JSON.stringify(await response.json());
      expect(answer).toContain(response.headers.get('X-Request-ID'));
    },
  );

  it('is counted once', async () => {
    const remaining = async (path: string) =>
      Number((await app.request(path)).headers.get('RateLimit-Remaining'));
    const before = await remaining('/api/things/1');
    expect(before).toBeGreaterThan(50);
    expect(await remaining('/api/*')).toBe(before - 1);
    expect(await remaining('/api/%2A')).toBe(before - 2);
    expect(await remaining('/api/things/*')).toBe(before - 3);
  });

  it('is passed to the handler unchanged', async () => {
    for (const id of [':id', '*', '*a', 'a:*', '%', '%252A']) {
      const response = await app.request(`/api/things/${id}`, { headers: withSecret });
      expect(await response.json()).toEqual({ id: id === '%252A' ? '%2A' : id });
    }
  });
});

describe('the security headers', () => {
  const { app } = createApp();

  it.each(['/open', '/plain', '/nowhere', '/api/things/1'])(
    'are on every response: %s',
    async (path) => {
      const { headers } = await app.request(path);
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(headers.get('X-Frame-Options')).toBe('DENY');
      expect(headers.get('Referrer-Policy')).toBe('no-referrer');
      expect(headers.get('Content-Security-Policy')).toContain("default-src 'none'");
      expect(headers.get('Cache-Control')).toBe('no-store');
    },
  );

  it('do not override those of a handler', async () => {
    const { headers } = await app.request('/page');
    expect(headers.get('Content-Security-Policy')).toBe('style-src *');
  });

  it('allow no other origin', async () => {
    const { headers } = await app.request('/open', {
      headers: { Origin: 'https://other.example' },
    });
    expect(headers.has('Access-Control-Allow-Origin')).toBe(false);
  });
});

describe('the order of the checks', () => {
  it('puts authentication before the lookup of a route', async () => {
    const { app } = createApp();
    expect((await app.request('/api/nowhere')).status).toBe(401);
    expect((await app.request('/api/nowhere', { headers: withSecret })).status).toBe(404);
    expect((await app.request('/api')).status).toBe(401);
  });

  it('puts the rate limit before authentication', async () => {
    const { app } = createApp();
    for (let index = 0; index < 100; index += 1) await app.request('/api/things/1');
    expect((await app.request('/api/things/1')).status).toBe(429);
  });

  it('puts authentication before the limit of the body', async () => {
    const { app } = createApp();
    const body = 'x'.repeat(2000);
    expect((await app.request('/api/things', { method: 'POST', body })).status).toBe(401);
  });

  it('uses the own access check of a path, if it has one', async () => {
    const { app } = createApp();
    const response = await app.request('/api/own');
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Limit')).toBe('100');
  });

  it('is the same for every spelling of a path', async () => {
    const { app } = createApp();
    for (const path of [
      '/api/%74hings/1',
      '/%61pi/things/1',
      '/api/./things/1',
      '/x/../api/things/1',
    ]) {
      expect((await app.request(path)).status, path).toBe(401);
    }
  });
});

describe('the body limit', () => {
  const { app } = createApp();
  const post = (body: ReadableStream) =>
    app.request('/api/things', {
      method: 'POST',
      headers: withSecret,
      body,
      duplex: 'half',
    });
  const stream = (size: number) => new Blob(['x'.repeat(size)]).stream();

  it('rejects a declared length above it', async () => {
    const response = await app.request('/api/things', {
      method: 'POST',
      headers: { ...withSecret, 'Content-Length': '1001' },
      body: 'x'.repeat(1001),
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({
      error: 'the request body is larger than 1000 bytes',
      request_id: response.headers.get('X-Request-ID'),
    });
  });

  it('rejects a body of undeclared length that grows past it', async () => {
    expect((await post(stream(1001))).status).toBe(413);
  });

  it('accepts a body of exactly that size', async () => {
    expect(await (await post(stream(1000))).text()).toHaveLength(1000);
  });
});

describe('HEAD', () => {
  const { app } = createApp();

  it('has the headers of GET and no body', async () => {
    const response = await app.request('/open', { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('X-Request-ID')).not.toBeNull();
    expect(await response.text()).toBe('');
  });

  it('has no body even on an error', async () => {
    const response = await app.request('/api/things/1', { method: 'HEAD' });
    expect(response.status).toBe(401);
    expect(await response.text()).toBe('');
  });
});

describe('hostile requests', () => {
  const { app } = createApp();
  const longText = 'a'.repeat(100_000);

  it.each([
    '/%',
    '/%zz',
    '/%00',
    '/api/things/%00',
    '/api/things/%E0%A4%A',
    '/api/things/..%2F..%2Fetc',
    '/api/things/%252e%252e',
    '//api/things/1',
    '/api//things',
    '/__proto__',
    '/constructor',
    `/api/things/${longText}`,
    `/open?${longText}=%&%00=%ff`,
    '/\u{1F4A3}',
  ])('do not cause an internal error: %.40s', async (path) => {
    const response = await app.request(path, { headers: withSecret });
    expect(response.status).toBeLessThan(500);
  });

  it.each(['PROPFIND', 'OPTIONS', 'DELETE', 'FOO-BAR', 'get'])(
    'may use any method: %s',
    async (method) => {
      const response = await app.request('/api/things/1', { method, headers: withSecret });
      expect(response.status).toBeLessThan(500);
    },
  );

  it('may send both secrets malformed', async () => {
    const headers = { 'X-Internal-Secret': `${TEST_SECRET}, x`, Authorization: 'Bearer' };
    expect((await app.request('/api/things/1', { headers })).status).toBe(401);
  });
});
