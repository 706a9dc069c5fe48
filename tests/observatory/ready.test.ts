import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBackupsApp } from '../../lib/backups/app.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Environment } from '../../lib/config/read.ts';
import type { Database } from '../../lib/database/database.ts';
import { serveNode } from '../../lib/http/server/serve.ts';
import { createEmbedded, silentLog, type TestDatabase } from '../support/databases.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import { createObservatoryClient } from '../support/observatory-client.ts';

const READY = '/observatory/ready';

let database: TestDatabase;
let down: Database;
beforeAll(async () => {
  [database, down] = await Promise.all([createEmbedded(), openDownDatabase()]);
});
afterAll(() => Promise.all([database.close(), down.close()]));

function createClient(environment: Environment = {}, db: Database = database.db) {
  const backups = createBackupsApp(createTestDeps({ db }));
  return createObservatoryClient({
    db,
    environment,
    askServiceApi: async (signal) => backups.request('/health', { signal }),
  });
}

const allWell = { status: 'ready', database: 'ok', go_backend: 'ok', configuration: 'ok' };

/** A server that answers every request the same way. */
const serveBackend = (fetch: (request: Request) => Response | Promise<Response>) =>
  serveNode({ fetch, host: '127.0.0.1', port: 0, log: silentLog, clock: systemClock });

describe('GET /observatory/ready', () => {
  it('is 200 for anyone when everything works', async () => {
    const { status, body } = await createClient().get(READY, { token: null });
    expect([status, body]).toEqual([200, allWell]);
  });

  it('does not exist without the prefix', async () => {
    expect((await createClient().get('/ready')).status).toBe(404);
  });

  it('is 503 without the database', async () => {
    const answer = await createClient({}, down).get(READY, { token: null });
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual({ ...allWell, status: 'unavailable', database: 'unreachable' });
    expect(answer.text).not.toMatch(downDatabaseWords);
  });

  it.each([
    ['JWT_SECRET is unset', { JWT_SECRET: undefined }],
    ['AUTH_PASSWORD is unset', { AUTH_PASSWORD: undefined }],
    ['AUTH_USERNAME is unset', { AUTH_USERNAME: undefined }],
  ])('is 503 with an incomplete configuration: %s', async (_case, environment) => {
    const { status, body } = await createClient(environment).get(READY, { token: null });
    expect(status).toBe(503);
    expect(body).toEqual({ ...allWell, status: 'unavailable', configuration: 'incomplete' });
  });

  it('needs no gateway', async () => {
    const environment = { GATEWAY_API_KEYS: undefined, CREDENTIALS_ENCRYPTION_KEY: undefined };
    expect((await createClient(environment).get(READY)).status).toBe(200);
  });
});

describe('go_backend', () => {
  it('is asked at BACKEND_URL if it is set', async () => {
    const asked: string[] = [];
    const backend = await serveBackend((request) => {
      asked.push(new URL(request.url).pathname);
      return Response.json({ status: 'ok' });
    });
    const { get } = createObservatoryClient({
      db: database.db,
      environment: { BACKEND_URL: backend.url },
    });
    expect((await get(READY)).body.go_backend).toBe('ok');
    expect(asked).toEqual(['/health']);
    await backend.close(0);
  });

  it.each([
    ['fails', () => new Response('no', { status: 500 })],
    ['redirects', () => Response.redirect('http://127.0.0.1:9/', 302)],
  ])('is unreachable when it %s', async (_case, answer) => {
    const backend = await serveBackend(answer);
    const { get } = createClient({ BACKEND_URL: backend.url });
    expect((await get(READY)).body).toMatchObject({ go_backend: 'unreachable', database: 'ok' });
    await backend.close(0);
  });

  it('is unreachable when nothing listens, or its address is unknown', async () => {
    const { get } = createClient({ BACKEND_URL: 'http://127.0.0.1:9' });
    expect((await get(READY)).body.go_backend).toBe('unreachable');
    const alone = createObservatoryClient({ db: database.db });
    expect((await alone.get(READY, { headers: withSecret, token: null })).body).toMatchObject({
      go_backend: 'unreachable',
      details: { go_backend: 'BACKEND_URL is not set' },
    });
  });

  it('is unreachable when it takes longer than 2 seconds', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { get, deps } = createObservatoryClient({
      db: database.db,
      askServiceApi: (signal) => {
        asked();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    const answer = get(READY);
    await isAsked;
    while (deps.clock.sleepers() > 1) await new Promise(setImmediate);
    deps.clock.advance(2_000);
    expect((await answer).body.go_backend).toBe('unreachable');
  });
});

describe('concurrent requests', () => {
  it('share one check, and the next request checks again', async () => {
    let [queries, calls] = [0, 0];
    const counting: Database = {
      ...database.db,
      query: (...query) => {
        queries += 1;
        return database.db.query(...query);
      },
    };
    const client = createObservatoryClient({
      db: counting,
      askServiceApi: async () => {
        calls += 1;
        return new Response();
      },
    });
    for (const times of [1, 2]) {
      const asking = Array.from({ length: 50 }, () => client.get(READY, { token: null }));
      const answers = await Promise.all(asking);
      expect(answers.map(({ status }) => status)).toEqual(new Array(50).fill(200));
      expect([queries, calls]).toEqual([times, times]);
    }
  });

  it('log the problem once a minute', async () => {
    const client = createClient({ JWT_SECRET: undefined });
    const told = () => client.deps.logged.filter(({ message }) => /is not ready/.test(message));
    for (const [wait, records] of [
      [0, 1],
      [59_999, 1],
      [1, 2],
    ] as const) {
      client.deps.clock.advance(wait);
      for (let n = 0; n < 3; n += 1) await client.get(READY, { token: null });
      expect(told()).toHaveLength(records);
    }
  });
});

describe('details', () => {
  it('are shown only to a user or with the internal secret', async () => {
    const client = createClient({ BACKEND_URL: 'http://127.0.0.1:9' }, down);
    const details = {
      database: 'the database is unavailable: connect ECONNREFUSED',
      go_backend: expect.stringMatching(/^fetch failed/),
    };
    const found = [
      (await client.get(READY)).body.details,
      (await client.get(READY, { token: null, headers: withSecret })).body.details,
    ];
    for (const it of found) {
      expect(it.database).toContain(details.database);
      expect(it.go_backend).toEqual(details.go_backend);
      expect(JSON.stringify(it)).not.toContain('hunter2');
    }
    const expired = await client.signToken('ada', { claims: { exp: 1 } });
    for (const token of [null, 'nonsense', expired]) {
      expect((await client.get(READY, { token })).body.details).toBeUndefined();
    }
  });

  it('do not delay the answer while the database hangs', async () => {
    const hanging: Database = { ...database.db, query: () => new Promise(() => undefined) };
    const client = createClient({}, hanging);
    const answer = client.get(READY, { token: await client.signToken('grace') });
    for (const wait of [3_000, 1_000]) {
      while (client.deps.clock.sleepers() === 0) await new Promise(setImmediate);
      client.deps.clock.advance(wait);
      // Lets the finished sleeper be removed.
      await new Promise(setImmediate);
    }
    const { status, body } = await answer;
    expect([status, body.database, body.details]).toEqual([503, 'unreachable', undefined]);
  });

  it('are hidden from a user who cannot be checked while the database is down', async () => {
    const client = createClient({}, down);
    const token = await client.signToken('grace');
    const { status, body } = await client.get(READY, { token });
    expect(status).toBe(503);
    expect(body.details).toBeUndefined();
  });
});
