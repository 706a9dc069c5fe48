import { gunzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import type { HttpEnv } from '../../lib/http/env.ts';
import { staticAnswer } from '../../lib/http/static-answer.ts';
import { createClient } from '../support/client.ts';

const text = 'the same for everybody\n'.repeat(1_000);
let loads = 0;
const app = new Hono<HttpEnv>();
const send = staticAnswer(
  async () => {
    loads += 1;
    return text;
  },
  { 'Content-Type': 'text/plain' },
);
app.get('/', (c) => send(c));
const ask = async (headers: Record<string, string> = {}) => app.request('/', { headers });

describe('a static answer', () => {
  it('is loaded once', async () => {
    await Promise.all([ask(), ask(), ask()]);
    expect(loads).toBe(1);
  });

  it('is compressed for clients that accept that', async () => {
    const plain = await ask();
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(text);
    for (const accepted of ['gzip', 'br;q=1, gzip;q=0.8']) {
      const answer = await ask({ 'Accept-Encoding': accepted });
      expect(answer.headers.get('content-encoding')).toBe('gzip');
      expect(answer.headers.get('vary')).toBe('Accept-Encoding');
      expect(gunzipSync(await answer.arrayBuffer()).toString()).toBe(text);
    }
    const refused = await ask({ 'Accept-Encoding': 'gzip;q=0' });
    expect(refused.headers.get('content-encoding')).toBeNull();
  });

  it('is not sent again to a client that has it', async () => {
    const etag = (await ask()).headers.get('etag') ?? '';
    for (const known of [etag, etag.slice(2), `"another", ${etag}`, '*']) {
      const answer = await ask({ 'If-None-Match': known });
      expect([answer.status, await answer.text()]).toEqual([304, '']);
      expect(answer.headers.get('etag')).toBe(etag);
    }
    expect((await ask({ 'If-None-Match': '"another"' })).status).toBe(200);
  });
});

describe.each(['/openapi.json', '/docs', '/docs/scalar.js', '/nothing', '/metrics'])(
  '%s',
  (path) => {
    it('counts anonymous requests, and rejects those beyond the limit', async () => {
      const client = createClient();
      const statuses: number[] = [];
      for (let n = 0; n < 101; n++) statuses.push((await client.get(path, {})).status);
      expect(statuses.slice(0, 100)).not.toContain(429);
      expect(statuses[100]).toBe(429);
      expect((await client.get('/health', {})).status).toBe(200);
    });
  },
);

it.each(['/openapi.json', '/docs', '/docs/scalar.js'])('%s answers If-None-Match', async (path) => {
  const client = createClient();
  const etag = (await client.get(path, {})).headers.get('etag') ?? '';
  expect((await client.get(path, { 'If-None-Match': etag })).status).toBe(304);
});
