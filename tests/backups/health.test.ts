import { describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import manifest from '../../package.json' with { type: 'json' };
import { type Client, createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createPostgres } from '../support/databases.ts';

describe.each(['/health', '/healthz'])('GET %s', (path) => {
  it('returns the version and the seconds since the start', async () => {
    const client = createClient();
    client.deps.clock.advance(61_999);
    const { status, body } = await client.get(path, {});
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ok', uptime_seconds: 61, version: manifest.version });
  });
});

describe.each(['/ready', '/readyz'])('GET %s', (path) => {
  it('reports that the database answers', async () => {
    const { db, close } = await createPostgres();
    const { status, body } = await createClient({ db }).get(path, {});
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ready', database: 'connected' });
    await close();
  });

  it('reports that the database does not answer, without details', async () => {
    const { status, body } = await createClient().get(path, {});
    expect(status).toBe(503);
    expect(body).toEqual({ status: 'unavailable', database: 'disconnected' });
  });

  it('gives up on a hanging database after 3 seconds', async () => {
    const clock = createTestClock();
    const hanging: Database = {
      driver: 'pg',
      query: () => new Promise(() => undefined),
      poolStats: () => ({ total: 1, idle: 0, waiting: 0 }),
      close: async () => undefined,
    };
    const client = createClient({ db: hanging, clock });
    const answer = client.get(path, {});
    clock.advance(3_000);
    expect((await answer).status).toBe(503);
  });
});

describe('GET /ready, which is public', () => {
  /** A database whose responses the test releases. */
  function createSlow() {
    const asked: PromiseWithResolvers<never[]>[] = [];
    const db: Database = {
      driver: 'pg',
      query() {
        const answer = Promise.withResolvers<never[]>();
        asked.push(answer);
        return answer.promise;
      },
      poolStats: () => ({ total: 1, idle: 0, waiting: 0 }),
      close: async () => undefined,
    };
    return { asked, client: createClient({ db }) };
  }
  const askOften = (client: Client) =>
    Promise.all(Array.from({ length: 50 }, () => client.get('/ready', {})));

  it('shares one ping between concurrent requests', async () => {
    const { asked, client } = createSlow();
    for (const times of [1, 2]) {
      const answers = askOften(client);
      await new Promise(setImmediate);
      expect(asked).toHaveLength(times);
      asked.at(-1)?.resolve([]);
      expect((await answers).map(({ status }) => status)).toEqual(new Array(50).fill(200));
    }
  });

  it('pings again if the database has not answered for 3 seconds', async () => {
    const { asked, client } = createSlow();
    const { clock } = client.deps;
    for (const times of [1, 2]) {
      const answers = askOften(client);
      await new Promise(setImmediate);
      expect(asked).toHaveLength(times);
      clock.advance(3_000);
      expect((await answers).map(({ status }) => status)).toEqual(new Array(50).fill(503));
    }
  });

  it('logs once a minute while the database does not answer', async () => {
    const client = createClient();
    await askOften(client);
    client.deps.clock.advance(59_999);
    await askOften(client);
    const told = () => client.deps.logged.filter(({ message }) => /does not answer/.test(message));
    expect(told()).toHaveLength(1);
    client.deps.clock.advance(1);
    await askOften(client);
    expect(told()).toHaveLength(2);
  });
});

describe('GET /metrics', () => {
  it('shows requests by route pattern', async () => {
    const client = createClient();
    await client.get('/api/backups/7');
    await client.get('/api/backups/8');
    await client.get('/api/guess');
    const { text, headers } = await client.get('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    const series = 'http_requests_total{method="GET",route=';
    expect(text).toContain(`${series}"/api/backups/:id",status="503"} 2`);
    expect(text).toContain(`${series}"unmatched",status="404"} 1`);
    expect(text).not.toContain('guess');
  });

  it('counts a rejected request for its route', async () => {
    const client = createClient();
    for (const path of ['/api/backups/7', '/api/backups/latest', '/metrics']) {
      expect((await client.get(path, {})).status).toBe(401);
    }
    const { text } = await client.get('/metrics');
    for (const route of ['/api/backups/:id', '/api/backups/latest', '/metrics']) {
      expect(text).toContain(`{method="GET",route="${route}",status="401"} 1`);
    }
  });

  it('omits the states of repositories while the database is down, and logs this once a minute', async () => {
    const client = createClient();
    for (const _ of [1, 2]) {
      const { status, text } = await client.get('/metrics');
      expect(status).toBe(200);
      expect(text).not.toMatch(/^backup_repositories\{/m);
    }
    const told = client.deps.logged.filter(({ message }) =>
      /the backup metrics could not be read/.test(message),
    );
    expect(told).toHaveLength(1);
  });

  it('returns the same metrics as JSON with format=json', async () => {
    const client = createClient();
    await client.get('/api/backups/7');
    expect((await client.get('/metrics?format=json')).body).toContainEqual(
      expect.objectContaining({
        name: 'http_requests_total',
        values: [{ labels: { method: 'GET', route: '/api/backups/:id', status: '503' }, value: 1 }],
      }),
    );
  });
});
