import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../support/chat.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { insertLog, insertRun } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startWorkerd, type Workerd } from '../support/workerd.ts';

// The service API and the live feed in workerd, the runtime of Cloudflare Workers, which is not Node.js.

let workerd: Workerd;
beforeAll(async () => {
  if (hasRedisServer) workerd = await startWorkerd();
});
afterAll(() => workerd?.close());

const ask = (path: string, headers: Record<string, string> = withSecret) =>
  fetch(`${workerd.url}${path}`, { headers });

describe.skipIf(!hasRedisServer)('the service API in workerd', () => {
  it('lists one page of runs', async () => {
    const { db } = workerd.database;
    for (const total_repos of [1, 2, 3]) await insertRun(db, { status: 'completed', total_repos });
    const response = await ask('/api/backups?limit=2');
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        data: [expect.objectContaining({ total_repos: 3 }), expect.objectContaining({ id: 2 })],
        pagination: { page: 1, limit: 2, total_items: 3, total_pages: 2 },
      },
    ]);
    expect(workerd.asked).toContain('api.eu-central-1.aws.neon.tech');
  });

  it('rejects a request with a wrong secret, and gives its request id', async () => {
    const response = await ask('/api/backups', { Authorization: 'Bearer wrong' });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { code: 'UNAUTHORIZED', request_id: response.headers.get('x-request-id') },
    });
  });

  it('counts a client by the address from the platform, whatever the client claims', async () => {
    const limitOf = async (headers: Record<string, string>) => {
      const response = await ask('/api/backups', headers);
      return response.headers.get('ratelimit-remaining');
    };
    const platform = { 'CF-Connecting-IP': '203.0.113.7' };
    expect(await limitOf({ ...platform, 'X-Real-IP': '198.51.100.1' })).toBe('99');
    expect(await limitOf({ ...platform, 'X-Real-IP': '198.51.100.2' })).toBe('98');
    const keys = await workerd.redis.send(['KEYS', 'backup:rate:anonymous:203.0.113.7:*']);
    expect(keys).toHaveLength(1);
  });

  it('finishes work after the response: it records for the sweep that the database was used', async () => {
    await ask('/api/dashboard/stats');
    await waitFor(() => workerd.redis.send(['GET', 'backup:database-used-at']), 'the note');
    const { db } = workerd.database;
    const startedAt = '2026-01-01T00:00:00Z';
    const id = await insertRun(db, { status: 'running', started_at: startedAt });
    const response = await ask('/api/cron/sweep-stale-runs', {
      Authorization: `Bearer ${TEST_SECRET}`,
    });
    expect(await response.json()).toEqual({ swept: 1, run_ids: [id] });
  });

  it('responds with 503 while the database is down', async () => {
    workerd.neon.failWith({ status: 500, body: 'gone' });
    const response = await ask('/api/backups');
    workerd.neon.failWith(null);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect((await ask('/api/backups')).status).toBe(200);
    expect(workerd.logged).toContainEqual(
      expect.objectContaining({ level: 'warn', route: '/api/backups' }),
    );
  });

  it('serves many concurrent requests in one isolate', async () => {
    await insertLog(workerd.database.db, { message: 'one line' });
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('/api/logs')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('accepts changes: a run request, and its withdrawal', async () => {
    const headers = { ...withSecret, 'Content-Type': 'application/json' };
    const address = `${workerd.url}/api/run-requests`;
    const asked = await fetch(address, { method: 'POST', headers, body: '{"reason":"a test"}' });
    const { id } = (await asked.json()) as { id: number };
    expect(asked.status).toBe(201);
    const withdrawn = await fetch(`${address}/${id}`, { method: 'DELETE', headers: withSecret });
    expect([withdrawn.status, await withdrawn.json()]).toMatchObject([200, { withdrawn: true }]);
  });

  it.each(['', '/files', '/file?path=a', '/bundle'])(
    'reports that there are no archives here: …/archive%s',
    async (rest) => {
      const response = await ask(`/api/repos/acme/widgets/archive${rest}`);
      expect([response.status, await response.json()]).toMatchObject([
        503,
        { message: expect.stringContaining('the archives are not on this server') },
      ]);
    },
  );

  it('has metrics of its requests, but none of a process', async () => {
    const text = await (await ask('/metrics')).text();
    expect(text).toMatch(/^http_requests_total\{.*route="\/api\/backups".*\} \d+$/m);
    expect(text).not.toMatch(/^(process|nodejs)_/m);
  });

  it('describes every surface', async () => {
    const document = (await (await ask('/openapi.json')).json()) as { paths: object };
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/api/backups', '/chat/stream', '/mcp', '/ws/live']),
    );
    expect((await ask('/docs')).headers.get('content-type')).toContain('text/html');
    expect(await (await ask('/docs/scalar.js')).text()).toContain('createApiReference');
  });
});

describe.skipIf(!hasRedisServer)('the live feed in workerd', () => {
  const handshake = {
    ...withSecret,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const unavailable = {
    success: false,
    error: {
      code: 'SERVICE_UNAVAILABLE',
      message: 'the live feed needs a Node.js server: this deployment runs without one',
      request_id: expect.any(String),
    },
    message: expect.any(String),
  };

  it('says that it needs a Node.js server', async () => {
    const response = await ask('/api/logs/stream');
    expect([response.status, await response.json()]).toEqual([503, unavailable]);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(60);
  });

  it('responds in the same way to a WebSocket handshake, and with 426 to any other request', async () => {
    const { status, body } = await requestRaw('/ws/live', handshake);
    expect([status, body]).toEqual([503, unavailable]);
    expect((await ask('/ws/live')).status).toBe(426);
  });

  it('still requires the secret', async () => {
    expect((await ask('/api/logs/stream', {})).status).toBe(401);
  });
});

it.skipIf(!hasRedisServer)(
  'a database other than Neon is rejected with an explanation instead of hanging',
  async () => {
    const DATABASE_URL = 'postgres://user:the-password@127.0.0.1:9/backups';
    const other = await startWorkerd({ DATABASE_URL });
    const response = await fetch(`${other.url}/api/backups`, { headers: withSecret });
    expect(response.status).toBe(503);
    expect((await fetch(`${other.url}/health`)).status).toBe(200);
    const [record] = other.logged;
    expect(record?.message).toBe(
      'the service API is not configured: DATABASE_URL must name a Neon host: this runtime keeps no connections between requests',
    );
    expect(JSON.stringify(other.logged)).not.toContain('the-password');
    await other.close();
  },
);

/** Sends a request with headers that `fetch` would not send. */
async function requestRaw(path: string, headers: Record<string, string>) {
  return new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
    const asking = request(`${workerd.url}${path}`, { headers }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    });
    asking.on('error', reject);
    asking.on('upgrade', () => reject(new Error('the connection was upgraded')));
    asking.end();
  });
}
