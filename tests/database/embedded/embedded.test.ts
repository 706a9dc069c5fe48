import { once } from 'node:events';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { connect } from '../../support/connection.ts';
import { openTemporary } from './open-temporary.ts';

/** Generous, because a busy machine takes longer to start a statement. */
const patience = { timeout: 120_000 };
const clock = createTestClock();
let db: EmbeddedDatabase;
let url: string;
beforeAll(async () => {
  db = await openTemporary(clock);
  url = db.url;
});
afterAll(() => db.close());

it('the embedded database reports its driver and address', () => {
  expect(db.driver).toBe('embedded');
  expect(url).toMatch(/^postgres:\/\/\/postgres\?host=%2F.+&port=5432&user=postgres/);
  expect(db.portUrl).toBeNull();
});

it('the embedded database returns rows as objects, with the types of the pg driver', async () => {
  const text = `SELECT $1::text AS text, $2::int AS int, $3::boolean AS bool, $4::text[] AS list,
    $5::text AS missing, 9::bigint AS big, '2026-03-04 05:06:07.123456+00'::timestamptz::text AS time`;
  expect(await db.query({ text }, ['ä', 7, true, ['a,b', '"', null], null])).toEqual([
    {
      text: 'ä',
      int: 7,
      bool: true,
      list: ['a,b', '"', null],
      missing: null,
      big: '9',
      time: '2026-03-04 05:06:07.123456+00',
    },
  ]);
});

it('the embedded database keeps the microseconds of times', async () => {
  const time = '2026-03-04T05:06:07.123456Z';
  expect(await db.query({ text: 'SELECT $1::timestamptz::text AS t' }, [time])).toEqual([
    { t: '2026-03-04 05:06:07.123456+00' },
  ]);
});

it('the embedded database offers the vector extension', async () => {
  await db.query({ text: 'CREATE EXTENSION IF NOT EXISTS vector' });
  expect(await db.query({ text: "SELECT '[1,2]'::vector::text AS v" })).toEqual([{ v: '[1,2]' }]);
});

it('the embedded database prepares a named statement once', async () => {
  const statement = { name: 'twice', text: 'SELECT $1::int * 2 AS double' };
  expect(await db.query(statement, [1])).toEqual([{ double: 2 }]);
  expect(await db.query(statement, [2])).toEqual([{ double: 4 }]);
  const text = "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name LIKE '%twice'";
  expect(await db.query({ text })).toEqual([{ n: 1 }]);
});

it('the embedded database throws errors of statements like the driver, and keeps working', async () => {
  await expect(db.query({ text: 'SELECT 1/0' })).rejects.toMatchObject({ code: '22012' });
  expect(await db.query({ text: 'SELECT 1 AS a' })).toEqual([{ a: 1 }]);
});

it('the embedded database answers many concurrent statements correctly', async () => {
  const numbers = Array.from({ length: 200 }, (_, n) => n);
  const rows = await Promise.all(
    numbers.map((n) => db.query<{ n: number }>({ text: 'SELECT $1::int AS n' }, [n])),
  );
  expect(rows.flat().map(({ n }) => n)).toEqual(numbers);
});

it('a statement fails with SERVICE_UNAVAILABLE if it gets no lease in time', async () => {
  // Its connections have prepared nothing: a leaving client that has waits for a lease, to close it.
  const other = await openTemporary(clock, null, { maxWaitMs: 100 });
  onTestFinished(() => other.close());
  const client = await connect(other.url);
  await client.query('BEGIN');
  await expect(other.query({ text: 'SELECT 1' }, [], { timeoutMs: 100 })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
  await expect.poll(() => other.poolStats().waiting, patience).toBe(0);
  await client.end();
});

it('the embedded database counts connected and waiting clients', async () => {
  const client = await connect(url);
  onTestFinished(() => client.end());
  await client.query('BEGIN');
  const idle = db.poolStats().idle;
  const asked = db.query({ text: 'SELECT 1' });
  await expect.poll(() => db.poolStats(), patience).toMatchObject({ idle: idle - 1, waiting: 1 });
  await client.query('COMMIT');
  await asked;
});

it('a statement that overflows the stack fails, and the next one is answered', async () => {
  await db.query({
    text: `CREATE FUNCTION endless(n int) RETURNS int LANGUAGE plpgsql
      AS $$ BEGIN RETURN endless(n + 1); END $$`,
  });
  await expect(db.query({ text: 'SELECT endless(1)' })).rejects.toMatchObject({ code: '54001' });
  expect(await db.query({ text: 'SELECT 1 AS a' })).toEqual([{ a: 1 }]);
});

it('the embedded database is unavailable once closed, and closes once', async () => {
  const other = await openTemporary(clock);
  const running = other.query({ text: 'SELECT 1 AS a FROM pg_sleep(0.5)' });
  await expect.poll(() => other.poolStats(), patience).toMatchObject({ total: 1, idle: 0 });
  const closing = other.close();
  expect(other.close()).toBe(closing);
  expect(await running).toEqual([{ a: 1 }]);
  await closing;
  await expect(other.query({ text: 'SELECT 1' })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
});

it('closing the embedded database disconnects its clients, even one in a transaction', async () => {
  const other = await openTemporary(clock);
  const client = await connect(other.url);
  await client.query('BEGIN');
  const ended = once(client, 'error');
  client.on('error', () => undefined);
  const waiting = expect(other.query({ text: 'SELECT 1' })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  });
  await other.close();
  expect((await ended)[0]).toMatchObject({ code: '57P01' });
  await waiting;
});
