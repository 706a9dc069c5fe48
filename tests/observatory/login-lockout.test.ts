import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import type { Database } from '../../lib/database/database.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { openDownDatabase } from '../support/down-database.ts';
import {
  ADA,
  createObservatoryClient,
  type ObservatoryClient,
} from '../support/observatory-client.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

let database: TestDatabase;
let down: Database;

beforeAll(async () => {
  [database, down] = await Promise.all([createPostgres(), openDownDatabase()]);
});
afterAll(() => Promise.all([database.close(), down.close()]));

const createClient = (environment: Environment = {}, db = database.db) =>
  createObservatoryClient({ db, environment });

const succeed = (client: ObservatoryClient, peer?: string) =>
  client.login(ADA.username, ADA.password, peer === undefined ? {} : { peer });

async function fail(client: ObservatoryClient, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < times; n += 1) statuses.push((await client.login('nobody', 'x')).status);
  return statuses;
}

/** The behaviour wherever failures are counted. */
function describeLockout(environmentOf: () => Environment) {
  it('locks an address out after 5 failures, even with the right password', async () => {
    const client = createClient(environmentOf());
    expect(await fail(client, 6)).toEqual([401, 401, 401, 401, 401, 429]);
    const answer = await succeed(client);
    expect(answer.status).toBe(429);
    expect(answer.body.error.code).toBe('LOGIN_LOCKED');
    expect((await succeed(client, '192.0.2.99')).status).toBe(200);
  });

  it('takes its limits from the configuration', async () => {
    const limits = { LOGIN_MAX_FAILURES: '2', LOGIN_FAILURE_WINDOW_SECONDS: '90' };
    const client = createClient({ ...environmentOf(), ...limits });
    expect(await fail(client, 3)).toEqual([401, 401, 429]);
    const wait = Number((await succeed(client)).headers.get('retry-after'));
    expect(wait).toBeGreaterThan(60);
    expect(wait).toBeLessThanOrEqual(90);
  });

  it('forgets failures after a success', async () => {
    const client = createClient(environmentOf());
    await fail(client, 4);
    expect((await succeed(client)).status).toBe(200);
    expect(await fail(client, 6)).toEqual([401, 401, 401, 401, 401, 429]);
  });

  it('allows no more guesses when they are simultaneous', async () => {
    const client = createClient(environmentOf());
    const guesses = Array.from({ length: 20 }, () => client.login(ADA.username, 'x'));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  });

  it('admits every simultaneous login with the right password', async () => {
    const client = createClient(environmentOf());
    expect(await fail(client, 4)).toEqual([401, 401, 401, 401]);
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await succeed(client)).status),
    );
    expect(statuses).toEqual(new Array(12).fill(200));
  });

  it('locks out a login that waited for the last allowed failure', async () => {
    const [isAsked, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: Database = {
      ...database.db,
      async query(statement, values, options) {
        if (values?.[0] === 'slow') {
          isAsked.resolve();
          await isReleased.promise;
        }
        return database.db.query(statement, values, options);
      },
    };
    const client = createClient(environmentOf(), slow);
    await fail(client, 4);
    const guess = client.login('slow', 'x');
    await isAsked.promise;
    const right = Array.from({ length: 3 }, () => succeed(client));
    isReleased.resolve();
    expect((await guess).status).toBe(401);
    for (const answer of await Promise.all(right)) {
      expect([answer.status, Number(answer.headers.get('retry-after')) > 200]).toEqual([429, true]);
    }
  });

  it('does not count an attempt that the database made fail', async () => {
    const broken = createClient(environmentOf(), down);
    expect(await fail(broken, 7)).toEqual(new Array(7).fill(503));
  });
}

describe('the lockout in the process', () => {
  describeLockout(() => ({}));

  it('runs from the first failure, reports the time left, and is not extended', async () => {
    const client = createClient();
    await fail(client, 1);
    client.deps.clock.advance(100_000);
    await fail(client, 4);
    client.deps.clock.advance(50_500);
    expect((await succeed(client)).headers.get('retry-after')).toBe('150');
    client.deps.clock.advance(149_499);
    const last = await succeed(client);
    expect([last.status, last.headers.get('retry-after')]).toEqual([429, '1']);
    client.deps.clock.advance(1);
    expect((await succeed(client)).status).toBe(200);
  });
});

describe.skipIf(!hasRedisServer)('the lockout in Redis', () => {
  let redis: UpstashRest;
  beforeAll(async () => {
    redis = await startUpstashRest();
  });
  afterAll(() => redis.close());
  beforeEach(async () => {
    redis.mode = 'serve';
    await redis.send(['FLUSHALL']);
  });

  describeLockout(() => redis.environment);

  it('counts the failures of all processes together', async () => {
    const [one, two] = [createClient(redis.environment), createClient(redis.environment)];
    expect(await fail(one, 3)).toEqual([401, 401, 401]);
    expect(await fail(two, 3)).toEqual([401, 401, 429]);
    expect((await succeed(one)).status).toBe(429);
  });

  it('ends with the window', async () => {
    const client = createClient(redis.environment);
    await fail(client, 5);
    const [key] = (await redis.send(['KEYS', 'backup:login:*'])) as string[];
    expect(Number(await redis.send(['PTTL', key]))).toBeGreaterThan(200_000);
    await redis.send(['PEXPIRE', key, '0']);
    expect((await succeed(client)).status).toBe(200);
    expect(await redis.send(['KEYS', 'backup:login:*'])).toEqual([]);
  });

  it('still locks and ends when Redis has lost the end of the window', async () => {
    const client = createClient(redis.environment);
    await fail(client, 5);
    const [key] = (await redis.send(['KEYS', 'backup:login:*'])) as string[];
    await redis.send(['PERSIST', key]);
    const answer = await succeed(client);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '300']);
    expect(Number(await redis.send(['PTTL', key]))).toBeGreaterThan(200_000);
  });

  it('reports how long it lasts', async () => {
    const client = createClient(redis.environment);
    await fail(client, 5);
    const [key] = (await redis.send(['KEYS', 'backup:login:*'])) as string[];
    await redis.send(['PEXPIRE', key, '41500']);
    expect((await succeed(client)).headers.get('retry-after')).toMatch(/^4[12]$/);
  });

  it.each(['fail', 'hang'] as const)(
    'is counted in the process when Redis does %s',
    async (mode) => {
      const client = createClient(redis.environment);
      redis.mode = mode;
      expect(await fail(client, 6)).toEqual([401, 401, 401, 401, 401, 429]);
      expect(client.deps.logged.map(({ message }) => message)).toContain(
        'Redis does not answer: failed logins are counted in this process',
      );
    },
  );

  it('lets a login succeed even if Redis cannot clear its count', async () => {
    const client = createClient(redis.environment);
    await fail(client, 1);
    // The reservation is the last request that Redis answers.
    const login = succeed(client);
    const isReserved = async () => (await redis.send(['GET', 'backup:login:192.0.2.1'])) === '2';
    while (!(await isReserved())) await new Promise(setImmediate);
    redis.mode = 'fail';
    expect((await login).status).toBe(200);
  });
});
