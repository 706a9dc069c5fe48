import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDeps } from '../support/deps.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const statement = { text: 'select 1' };

/** A database that returns nothing and records its queries. */
function createSilentDatabase() {
  const asked: unknown[][] = [];
  const db: Database = {
    driver: 'pg',
    async query(...args) {
      asked.push(args);
      return [];
    },
    poolStats: () => ({ total: 1, idle: 2, waiting: 3 }),
    close: async () => undefined,
  };
  return { db, asked };
}

describe('the last use of the database, in the process', () => {
  it('is unknown before the first query', async () => {
    const deps = createTestDeps({ db: createSilentDatabase().db });
    expect(await deps.databaseUse.lastUse()).toBeNull();
  });

  it('is the time of a query', async () => {
    const deps = createTestDeps({ db: createSilentDatabase().db });
    const at = deps.clock.now();
    await deps.db.query(statement);
    deps.clock.advance(600_000);
    expect(await deps.databaseUse.lastUse()).toBe(at);
  });

  it('is recorded at most once a minute', async () => {
    const deps = createTestDeps({ db: createSilentDatabase().db });
    const at = deps.clock.now();
    await deps.db.query(statement);
    deps.clock.advance(59_999);
    await deps.db.query(statement);
    expect(await deps.databaseUse.lastUse()).toBe(at);
    deps.clock.advance(1);
    await deps.db.query(statement);
    expect(await deps.databaseUse.lastUse()).toBe(at + 60_000);
  });

  it('does not count queries of background jobs', async () => {
    const deps = createTestDeps({ db: createSilentDatabase().db });
    await deps.databaseUse.unrecorded.query(statement);
    expect(await deps.databaseUse.lastUse()).toBeNull();
  });

  it('is recorded without changing the query', async () => {
    const { db, asked } = createSilentDatabase();
    const deps = createTestDeps({ db });
    await deps.db.query(statement, [1, null], { timeoutMs: 7 });
    expect(asked).toEqual([[statement, [1, null], { timeoutMs: 7 }]]);
    expect(deps.db.poolStats()).toEqual({ total: 1, idle: 2, waiting: 3 });
  });
});

describe.skipIf(!hasRedisServer)('the last use of the database, in Redis', () => {
  let rest: UpstashRest;

  beforeAll(async () => {
    rest = await startUpstashRest();
  });
  afterAll(() => rest.close());
  beforeEach(async () => {
    rest.mode = 'serve';
    await rest.send(['FLUSHALL']);
    rest.requests = 0;
  });

  const createInstance = (clock = createTestClock()) =>
    createTestDeps({ db: createSilentDatabase().db, environment: rest.environment, clock });

  it('is known to other instances', async () => {
    const [one, other] = [createInstance(), createInstance()];
    await one.db.query(statement);
    await one.settled();
    expect(await other.databaseUse.lastUse()).toBe(one.clock.now());
  });

  it('is recorded once a minute, however many queries run', async () => {
    const deps = createInstance();
    await Promise.all(Array.from({ length: 20 }, () => deps.db.query(statement)));
    await deps.settled();
    expect(rest.requests).toBe(1);
  });

  it.each(['fail', 'hang'] as const)(
    'never holds up a query while Redis is in mode %s',
    async (mode) => {
      rest.mode = mode;
      const deps = createInstance();
      expect(await deps.db.query(statement)).toEqual([]);
      await deps.settled();
      expect(deps.logged).toMatchObject([{ level: 'warn' }]);
    },
  );

  it('is that of this process while Redis fails, and the failure is logged', async () => {
    const deps = createInstance();
    rest.mode = 'fail';
    expect(await deps.databaseUse.lastUse()).toBeNull();
    expect(deps.logged).toMatchObject([{ level: 'warn' }]);
    await deps.db.query(statement);
    await deps.settled();
    expect(await deps.databaseUse.lastUse()).toBe(deps.clock.now());
  });
});
