import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import type { Client, PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { onBehalfOf } from '../../../lib/caller.ts';
import { cancelStatement } from '../../../lib/database/cancel-statement.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { connect as connectTo, socketOf } from '../../support/connection.ts';
import { createEmbedded } from '../../support/databases.ts';

const endless = `SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b`;
const endlessFiles =
  'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r';
const endlessLoop = 'DO $$ BEGIN LOOP PERFORM clock_timestamp(); END LOOP; END $$';
/** Generous, because a busy machine takes longer to start a statement. */
const patience = { timeout: 120_000 };
const clock = createTestClock();
const clients: Client[] = [];
let db: EmbeddedDatabase;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ db, close } = await createEmbedded({ migrated: false, clock }));
});
afterAll(() => close());
beforeEach(async () => {
  await db.query({ text: 'DROP TABLE IF EXISTS t' });
  await db.query({ text: 'CREATE TABLE t (a int)' });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
});

async function connect(): Promise<Client> {
  const client = await connectTo(db.url);
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

/** Resolves when a statement is running and exactly this many clients wait for a lease. */
async function untilRunning(waiting = 0): Promise<void> {
  await expect
    .poll(() => {
      const stats = db.poolStats();
      return { running: stats.total - stats.idle - stats.waiting, waiting: stats.waiting };
    }, patience)
    .toEqual({ running: 1, waiting });
}

const onBehalfOfUser = <Result>(key: string, work: () => Promise<Result>) =>
  onBehalfOf({ key, isLimited: true, phase: 'reading', signal: null }, work);

const cancel = (client: Client) => cancelStatement(client as PoolClient, client);
const countRows = () => db.query({ text: 'SELECT count(*)::int AS n FROM t' });

describe('a statement with a time budget', () => {
  const budgetMs = 3_600_000;
  const text = `WITH RECURSIVE r(n) AS (
      SELECT 1 UNION ALL
      SELECT n + 1 FROM r WHERE clock_timestamp() < statement_timestamp() + interval '1 hour'
    ) SELECT max(n) FROM r`;
  const search = (key: string) =>
    onBehalfOfUser(key, () => db.query({ text }, [], { timeoutMs: budgetMs, budgetMs }));

  it('ends with its result once another user waits, and then the clock is right again', async () => {
    const searched = search('ada');
    await untilRunning();
    const others = onBehalfOfUser('grace', countRows);
    expect(await searched).toHaveLength(1);
    expect(await others).toEqual([{ n: 0 }]);
    const [{ ahead } = { ahead: '' }] = await db.query<{ ahead: number }>(
      { text: 'SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::int AS ahead' },
      [new Date().toISOString()],
    );
    expect(Math.abs(Number(ahead))).toBeLessThan(1_800);
  });
});

describe('a running statement', () => {
  it('blocks neither this process nor connecting clients', async () => {
    const slow = await connect();
    const failed = expect(slow.query(endless)).rejects.toMatchObject({ code: '57014' });
    await untilRunning();
    await connect();
    await cancel(slow);
    await failed;
  });

  it('ends when its client cancels it, without losing stored data', async () => {
    const client = await connect();
    await client.query('INSERT INTO t VALUES (1)');
    const failed = expect(client.query(endless)).rejects.toMatchObject({ code: '57014' });
    await untilRunning();
    await cancel(client);
    await failed;
    expect(await countRows()).toEqual([{ n: 1 }]);
  });

  it('ends when its client cancels it, while the engine and all other clients stay', async () => {
    const [other, client] = [await connect(), await connect()];
    await other.query('PREPARE kept AS SELECT 1 AS a');
    for (const text of [endless, endlessFiles, endlessLoop]) {
      const one = await connect();
      const failed = expect(one.query(text)).rejects.toMatchObject({ code: '57014' });
      await untilRunning();
      await cancel(one);
      await failed;
    }
    expect((await other.query('EXECUTE kept')).rows).toEqual([{ a: 1 }]);
    expect((await client.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
  });

  it('ends with the engine if it does not react within 5 seconds', async () => {
    const client = await connect();
    await client.query('INSERT INTO t VALUES (1)');
    const failed = expect(client.query('SELECT pg_sleep(100000)')).rejects.toMatchObject({
      code: '57014',
    });
    await untilRunning();
    const sleeping = clock.sleepers();
    await cancel(client);
    await expect.poll(() => clock.sleepers(), patience).toBe(sleeping + 1);
    clock.advance(5_000);
    await failed;
    expect(await countRows()).toEqual([{ n: 1 }]);
  });

  it('has its whole time from when it begins, however long it had to wait', async () => {
    const blocking = await connect();
    await blocking.query('BEGIN');
    const waiting = db.query({ text: 'SELECT 1 AS a' }, [], { timeoutMs: 200 });
    await untilRunning(1);
    await blocking.query('SELECT pg_sleep(0.3)');
    await blocking.query('COMMIT');
    expect(await waiting).toEqual([{ a: 1 }]);
  });

  it('ends at its time limit, and others continue', async () => {
    const limited = expect(
      db.query({ text: endless }, [], { timeoutMs: 200 }),
    ).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await untilRunning();
    expect(await countRows()).toEqual([{ n: 0 }]);
    await limited;
  });

  it('ends at the statement_timeout of its client', async () => {
    const client = await connect();
    await client.query("SET statement_timeout = '7s'");
    const failed = expect(client.query(endless)).rejects.toMatchObject({
      severity: 'FATAL',
      code: '57014',
      message: 'canceling statement due to statement timeout',
    });
    await expect.poll(() => clock.sleepers(), patience).toBe(2);
    clock.advance(7_000);
    await failed;
  });

  it('ends when its client has disconnected and others have waited for 30 seconds', async () => {
    const client = await connect();
    const failed = expect(client.query(endless)).rejects.toThrow();
    await untilRunning();
    client.connection.stream.destroy();
    await failed;
    const counted = db.query({ text: 'SELECT 1 AS a' }, [], { timeoutMs: 600_000 });
    await untilRunning(1);
    clock.advance(30_000);
    expect(await counted).toEqual([{ a: 1 }]);
  });

  it('continues if a cancel request has the wrong key', async () => {
    const client = await connect();
    const sleeping = client.query('SELECT pg_sleep(0.5)');
    await untilRunning();
    const { processID } = client as Client & { processID: number };
    const request = Buffer.alloc(16);
    for (const [at, number] of [16, 80_877_102, processID, 0].entries()) {
      request.writeInt32BE(number, at * 4);
    }
    const other = connectSocket(socketOf(db.url)).resume().end(request);
    await once(other, 'close');
    expect((await sleeping).rows).toHaveLength(1);
  });
});

describe('a client whose statement is canceled', () => {
  it('is rolled back', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    const failed = expect(client.query(endless)).rejects.toMatchObject({ code: '57014' });
    await untilRunning();
    await cancel(client);
    await failed;
    expect(await countRows()).toEqual([{ n: 0 }]);
  });

  it('is cut off in the middle of a row', async () => {
    const client = await connect();
    const rows = `SELECT repeat('x', 1000000), count(*) FROM generate_series(1, 1) AS c,
      LATERAL (${endless}) AS d`;
    const failed = expect(client.query(`SELECT repeat('x', 5000000); ${rows}`)).rejects.toThrow();
    await untilRunning();
    await cancel(client);
    await failed;
    expect(await countRows()).toEqual([{ n: 0 }]);
  });

  it('leaves the queue if the statement was still waiting for its lease', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.query('BEGIN');
    const failed = expect(two.query('INSERT INTO t VALUES (2)')).rejects.toMatchObject({
      code: '57014',
    });
    await untilRunning(1);
    await cancel(two);
    await failed;
    await one.query('COMMIT');
    expect(await countRows()).toEqual([{ n: 0 }]);
  });

  it('is not affected if the request comes too late', async () => {
    const client = await connect();
    await client.query('SELECT 1');
    await cancel(client);
    expect((await client.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
  });
});

it('the database closes within 10 seconds, whatever is running', async () => {
  const client = await connect();
  const failed = expect(client.query(endless)).rejects.toMatchObject({ code: '57P01' });
  await untilRunning();
  const closing = db.close();
  await expect.poll(() => clock.sleepers(), patience).toBe(2);
  clock.advance(10_000);
  await failed;
  await closing;
});
