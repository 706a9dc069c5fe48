import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cstrings, frame } from '../../../lib/database/embedded/messages.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { socketOf } from '../../support/connection.ts';
import { connectRaw } from '../../support/raw-client.ts';
import { openTemporary } from './open-temporary.ts';

let db: EmbeddedDatabase;
let url: string;
let client: Client;

beforeAll(async () => {
  const clock = createTestClock();
  db = await openTemporary(clock);
  url = db.url;
});
afterAll(() => db.close());
beforeEach(async () => {
  await db.query({ text: 'DROP TABLE IF EXISTS t' });
  await db.query({ text: 'CREATE TABLE t (a int PRIMARY KEY, b text)' });
  client = new Client({ connectionString: url });
  await client.connect();
});
afterEach(() => client.end());

const version = Buffer.from([0, 3, 0, 0]);
const startup = frame('?', Buffer.concat([version, cstrings('user', 'postgres', '')]))
  .toString('latin1')
  .slice(1);
const ready = /Z.{4}I$/s;
const rowsOfT = () => db.query({ text: 'SELECT a, b FROM t ORDER BY a' });

it('the server rejects COPY FROM STDIN, and keeps working', async () => {
  const prepared = { name: 'copy', text: 'COPY t FROM stdin' };
  for (const query of ['COPY t FROM stdin', prepared, 'BEGIN; COPY t FROM stdin; COMMIT']) {
    await expect(client.query(query)).rejects.toThrow('does not support COPY FROM STDIN');
  }
  await client.query('ROLLBACK');
  expect(await rowsOfT()).toEqual([]);
});

it('the server sends a large result completely', async () => {
  const { rows } = await client.query(
    "SELECT n, repeat('x', 200) AS text FROM generate_series(1, 100000) AS n",
  );
  expect(rows).toHaveLength(100_000);
  expect(rows.at(-1)).toEqual({ n: 100_000, text: 'x'.repeat(200) });
});

it('the server does not wait for a client that does not read its result', async () => {
  const raw = await connectRaw(socketOf(url));
  raw.send(startup);
  await raw.until(ready);
  raw.socket.pause();
  const query = "INSERT INTO t VALUES (1); SELECT repeat('x', 1000) FROM generate_series(1, 50000)";
  raw.send(frame('Q', cstrings(query)).toString('latin1'));
  await expect.poll(rowsOfT, { timeout: 120_000 }).toHaveLength(1);
  raw.socket.destroy();
});

it('the server reads a message of several megabytes', async () => {
  const text = 'ä'.repeat(3_000_000);
  const { rows } = await client.query('SELECT length($1::text) AS n', [text]);
  expect(rows).toEqual([{ n: 3_000_000 }]);
});

it('the server sends a result in portions', async () => {
  const { rows } = await client.query({
    text: 'SELECT n FROM generate_series(1, 25) AS n',
    values: [],
    rows: 10,
  } as object as { text: string; values: [] });
  expect(rows).toHaveLength(25);
});

it('the server rejects another role or database', async () => {
  const as = async (user: string, database: string) => {
    const other = new Client({
      connectionString: url
        .replace('/postgres?', `/${database}?`)
        .replace('user=postgres', `user=${user}`),
    });
    other.on('error', () => undefined);
    await other.connect();
  };
  await expect(as('ada', 'postgres')).rejects.toMatchObject({ code: '28000' });
  await expect(as('postgres', 'other')).rejects.toMatchObject({ code: '3D000' });
});

describe('a client that breaks the protocol', () => {
  it.each([
    { fault: 'no Postgres at all', sent: 'GET / HTTP/1.1\r\n\r\n' },
    { fault: 'an unknown type of message', sent: `${startup}z\0\0\0\x04` },
    { fault: 'a length below its own', sent: `${startup}Q\0\0\0\x03` },
    { fault: 'a length beyond the limit', sent: `${startup}Q\x7f\xff\xff\xff` },
    { fault: 'a query without an end', sent: `${startup}Q\0\0\0\x05x` },
  ])('is disconnected: $fault', async ({ sent }) => {
    const raw = await connectRaw(socketOf(url));
    raw.send(sent);
    expect(await raw.ended()).toContain('SFATAL\0VFATAL\0C08P01');
    expect((await client.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
  });

  it('is told that encryption is not available', async () => {
    const raw = await connectRaw(socketOf(url));
    raw.send('\0\0\0\x08\x04\xd2\x16\x2f');
    await raw.until(/^N/);
    raw.send('\0\0\0\x08\x04\xd2\x16\x30');
    await raw.until(/^NN/);
    raw.send(startup);
    await raw.until(ready);
    raw.socket.destroy();
  });

  it('does not block others if it disconnects between an error and its Sync', async () => {
    const raw = await connectRaw(socketOf(url));
    const parse = frame('P', Buffer.concat([cstrings('', 'nonsense'), Buffer.alloc(2)]));
    raw.send(startup + Buffer.concat([parse, frame('H')]).toString('latin1'));
    await raw.until(/C42601/);
    const asked = client.query('SELECT 1 AS a');
    raw.socket.destroy();
    expect((await asked).rows).toEqual([{ a: 1 }]);
  });
});
