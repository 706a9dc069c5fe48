import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import type { Client, QueryResult } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cstrings, queryMessage } from '../../../lib/database/embedded/messages.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { connect, socketOf } from '../../support/connection.ts';
import { openTemporary } from './open-temporary.ts';

/** Generous, because a busy machine takes longer to start a statement. */
const patience = { timeout: 120_000 };
const testClock = createTestClock();
/** How many time limits have been started. */
let limits = 0;
const clock = {
  ...testClock,
  sleep(ms: number, signal?: AbortSignal) {
    limits++;
    return testClock.sleep(ms, signal);
  },
};
let db: EmbeddedDatabase;
let url: string;
beforeAll(async () => {
  db = await openTemporary(clock);
  url = db.url;
  await db.query({ text: 'CREATE TABLE t (a int)' });
});
afterAll(() => db.close());

/** A client in a transaction that has stored a row, and the error with which the server disconnects it. */
async function begin(): Promise<{ client: Client; ended: Promise<unknown> }> {
  const client = await connect(url);
  const ended = new Promise((resolve) => client.once('error', resolve));
  client.on('error', () => undefined);
  await client.query('BEGIN');
  await client.query('INSERT INTO t VALUES (1)');
  return { client, ended };
}

/** Counts the rows of `t` from this process, waiting longer than any client may take. */
async function countRows(): Promise<number | undefined> {
  const text = 'SELECT count(*)::int AS n FROM t';
  return (await db.query<{ n: number }>({ text }, [], { timeoutMs: 3_600_000 }))[0]?.n;
}

/** Requests more than a socket can buffer, and stops reading once data arrives. */
async function askAndNotRead(client: Client): Promise<{ answer: Promise<QueryResult | Error> }> {
  const { stream } = client.connection;
  const limitsBefore = limits;
  const begun = once(stream, 'data').then(() => stream.pause());
  const answer = client
    .query("SELECT repeat('x', 1000000) FROM generate_series(1, 32)")
    .catch((error: Error) => error);
  await begun;
  // One limit for the statement, and one that starts when it ends.
  await expect.poll(() => limits, patience).toBe(limitsBefore + 2);
  return { answer };
}

describe('a client that does not read its result in a transaction', () => {
  it('is cut off and rolled back after 30 seconds if another waits', async () => {
    const { client } = await begin();
    const { answer } = await askAndNotRead(client);
    const counted = countRows();
    await expect.poll(() => db.poolStats().waiting).toBe(1);
    clock.advance(30_000);
    expect(await counted).toBe(0);
    client.connection.stream.resume();
    expect(await answer).toBeInstanceOf(Error);
  });

  it('gets the whole result if it continues in time', async () => {
    const { client } = await begin();
    const { answer } = await askAndNotRead(client);
    const counted = countRows();
    clock.advance(29_000);
    client.connection.stream.resume();
    expect(await answer).toMatchObject({ rowCount: 32 });
    await client.query('ROLLBACK');
    expect(await counted).toBe(0);
    await client.end();
  });
});

it('other clients are served between pipelined statements', async () => {
  await db.query({ text: 'CREATE TABLE many (a int)' });
  const sleeping = clock.sleepers();
  const socket = connectSocket(socketOf(url));
  const startup = Buffer.concat([Buffer.alloc(8), cstrings('user', 'postgres', '')]);
  startup.writeInt32BE(startup.length, 0);
  startup.writeInt16BE(3, 4);
  const insert = queryMessage('INSERT INTO many VALUES (1)');
  socket.write(Buffer.concat([startup, ...Array.from({ length: 1000 }, () => insert)]));
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    if (String(chunk).includes('INSERT')) break;
  }
  const [counted] = await db.query<{ n: number }>({ text: 'SELECT count(*)::int AS n FROM many' });
  expect(counted?.n).toBeLessThan(1000);
  socket.destroy();
  // The last statement may still be running, with a limit that the next test would count.
  await expect.poll(() => clock.sleepers(), patience).toBe(sleeping);
});

/** A connection that sends nothing. Resolves when the server has started to wait for it. */
async function connectSilently(): Promise<Socket> {
  const sleeping = clock.sleepers();
  const socket = connectSocket(socketOf(url));
  await expect.poll(() => clock.sleepers(), patience).toBe(sleeping + 1);
  return socket;
}

it('a client that sends no startup packet is disconnected after 5 seconds', async () => {
  const socket = await connectSilently();
  clock.advance(5_000);
  expect(String((await once(socket, 'data'))[0])).toContain('08006');
  socket.destroy();
});
