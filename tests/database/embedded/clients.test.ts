import { once } from 'node:events';
import { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { openTemporary } from './open-temporary.ts';

const clock = createTestClock();
let db: EmbeddedDatabase;
let url: string;
const clients: Client[] = [];

beforeAll(async () => {
  db = await openTemporary(clock);
  url = db.url;
});
afterAll(() => db.close());
beforeEach(async () => {
  await db.query({ text: 'DROP TABLE IF EXISTS t' });
  await db.query({ text: 'CREATE TABLE t (a int)' });
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

async function connect(options: object = {}): Promise<Client> {
  const client = new Client({ connectionString: url, ...options });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

/** Resolves when this many clients wait for a lease. */
async function untilWaiting(count: number): Promise<void> {
  await expect.poll(() => db.poolStats().waiting).toBe(count);
}

/** Counts the rows of `t` from this process, waiting longer than the limit of an idle client. */
async function countRows(): Promise<number | undefined> {
  const text = 'SELECT count(*)::int AS n FROM t';
  return (await db.query<{ n: number }>({ text }, [], { timeoutMs: 120_000 }))[0]?.n;
}

describe('several clients', () => {
  it('get their own answers, with named and unnamed statements', async () => {
    const pool = new Pool({ connectionString: url, max: 8 });
    const ask = async (n: number) => {
      const name = n % 2 === 0 ? { name: `statement-${n % 3}` } : {};
      const { rows } = await pool.query({
        ...name,
        text: `SELECT ${n % 3} + $1 AS n`,
        values: [n],
      });
      expect(Number(rows[0]?.n)).toBe((n % 3) + n);
    };
    await Promise.all(Array.from({ length: 300 }, (_, n) => ask(n)));
    await pool.end();
  });

  it('can use one name for different statements', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query({ name: 's', text: 'SELECT 1 AS n' });
    await two.query({ name: 's', text: 'SELECT 2 AS n' });
    expect((await one.query({ name: 's', text: 'SELECT 1 AS n' })).rows).toEqual([{ n: 1 }]);
  });

  it('keep their statements when one of them drops all of its own', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query({ name: 's', text: 'SELECT 1 AS n' });
    await two.query('DEALLOCATE ALL');
    expect((await one.query({ name: 's', text: 'SELECT 1 AS n' })).rows).toEqual([{ n: 1 }]);
  });

  it('leave no statement behind', async () => {
    const client = await connect();
    await client.query({ name: 'left', text: 'SELECT 1' });
    await client.query('PREPARE left_in_sql AS SELECT 1');
    await client.query('CREATE TEMP TABLE left_table (a int)');
    await client.end();
    const text = `SELECT count(*)::int AS n, to_regclass('left_table') IS NULL AS gone
      FROM pg_prepared_statements WHERE name LIKE '%left%'`;
    await expect.poll(() => db.query({ text })).toEqual([{ n: 0, gone: true }]);
  });

  it('do not see uncommitted changes, and queries of the process do not run in their transaction', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    const counted = countRows();
    await untilWaiting(1);
    await client.query('ROLLBACK');
    expect(await counted).toBe(0);
  });

  it("wait in order for another client's transaction", async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query('BEGIN');
    await one.query('INSERT INTO t VALUES (1)');
    const second = two.query('SELECT count(*)::int AS n FROM t');
    await untilWaiting(1);
    await one.query('COMMIT');
    expect((await second).rows).toEqual([{ n: 1 }]);
  });

  it('keep working after an error of one of them', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query('BEGIN');
    await expect(one.query('SELECT nonsense')).rejects.toMatchObject({ code: '42703' });
    await expect(one.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    const asked = two.query('SELECT 1 AS n');
    await one.query('ROLLBACK');
    expect((await asked).rows).toEqual([{ n: 1 }]);
  });

  it('are rejected with 53300 beyond 100, including those of the process itself', async () => {
    const free = 100 - db.poolStats().total;
    await Promise.all(Array.from({ length: free }, () => connect()));
    await expect(connect()).rejects.toMatchObject({ code: '53300' });
    expect(db.poolStats().total).toBe(100);
  });
});

describe('a client that disconnects in a transaction', () => {
  it('is rolled back, and its lease is passed on', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    const counted = countRows();
    client.connection.stream.destroy();
    expect(await counted).toBe(0);
  });

  it('is removed from the queue', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query('BEGIN');
    const never = expect(two.query('INSERT INTO t VALUES (2)')).rejects.toThrow();
    await untilWaiting(1);
    two.connection.stream.destroy();
    await never;
    await untilWaiting(0);
    await one.query('COMMIT');
    expect(await countRows()).toBe(0);
  });
});

describe('a client that is idle in a transaction', () => {
  it('is disconnected with 25P03 after 30 seconds if another waits', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    await expect.poll(() => clock.sleepers()).toBe(1);
    const ended = once(client, 'error');
    const counted = countRows();
    await untilWaiting(1);
    clock.advance(30_000);
    expect((await ended)[0]).toMatchObject({ code: '25P03' });
    expect(await counted).toBe(0);
  });

  it('stays connected while nobody waits, and is disconnected once somebody does', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await expect.poll(() => clock.sleepers()).toBe(1);
    clock.advance(31_000);
    expect((await client.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
    await expect.poll(() => clock.sleepers()).toBe(1);
    clock.advance(31_000);
    const ended = once(client, 'error');
    const counted = countRows();
    await untilWaiting(1);
    clock.advance(1_000);
    expect(await counted).toBe(0);
    expect((await ended)[0]).toMatchObject({ code: '25P03' });
  });
});

describe('settings', () => {
  it('belong to each client', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query("SET timezone = 'Europe/Paris'");
    await two.query("SELECT set_config('search_path', '', false)");
    const show =
      "SELECT current_setting('TimeZone') AS zone, current_setting('search_path') AS path";
    expect((await one.query(show)).rows).toEqual([{ zone: 'Europe/Paris', path: 'public' }]);
    expect((await two.query(show)).rows).toEqual([{ zone: 'UTC', path: '' }]);
    expect(await db.query({ text: show })).toEqual([{ zone: 'UTC', path: 'public' }]);
    await two.query("SET app.name = 'ada'");
    const custom = { text: "SELECT coalesce(current_setting('app.name', true), '') AS value" };
    expect(await db.query(custom)).toEqual([{ value: '' }]);
  });

  it('come from the startup packet', async () => {
    const client = await connect({ application_name: 'test', options: '-c work_mem=9MB' });
    const show =
      "SELECT current_setting('application_name') AS name, current_setting('work_mem') AS mem";
    await db.query({ text: 'SELECT 1' });
    expect((await client.query(show)).rows).toEqual([{ name: 'test', mem: '9MB' }]);
  });

  it('changed by a prepared statement take effect', async () => {
    const client = await connect();
    const statement = { name: 'zone', text: "SELECT set_config('TimeZone', $1, false)" };
    await client.query({ ...statement, values: ['Asia/Tokyo'] });
    await client.query({ ...statement, values: ['Europe/Rome'] });
    await db.query({ text: 'SELECT 1' });
    const { rows } = await client.query("SELECT current_setting('TimeZone') AS zone");
    expect(rows).toEqual([{ zone: 'Europe/Rome' }]);
  });

  it('changed in a rolled-back transaction are reset', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query("SET timezone = 'Europe/Paris'");
    await client.query('ROLLBACK');
    await db.query({ text: 'SELECT 1' });
    expect((await client.query('SHOW timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
  });

  it('disconnect the client if Postgres rejects them', async () => {
    const client = await connect({ options: '-c nonsense=1' });
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '42704' });
    expect(await countRows()).toBe(0);
  });
});
