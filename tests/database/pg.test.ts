import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Database, OpenDatabaseOptions } from '../../lib/database/database.ts';
import { openPgDatabase } from '../../lib/database/pg.ts';
import { connect, databaseUrl } from '../support/connection.ts';
import { silentLog } from '../support/databases.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';

const unavailable = { code: 'SERVICE_UNAVAILABLE', headers: { 'Retry-After': '5' } };
const one = { text: 'SELECT 1 AS one' };

let server: PostgresServer;
const opened: Database[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await server.stop();
});

function open(url = server.url, options: Partial<OpenDatabaseOptions> = {}): Database {
  const database = openPgDatabase({ url, fetch, log: silentLog, ...options });
  opened.push(database);
  return database;
}

function withLogin(user: string, password: string): string {
  return Object.assign(new URL(server.url), { username: user, password }).href;
}

describe('the pg driver throws SERVICE_UNAVAILABLE', () => {
  it('for a wrong password', async () => {
    const database = open(withLogin('postgres', 'wrong'));
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it('if the database in the URL does not exist', async () => {
    const database = open(databaseUrl(server.url, 'nothing'));
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it('if nothing listens at the address', async () => {
    const database = open('postgres://postgres@127.0.0.1:1/postgres');
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it('if the host name has no address', async () => {
    const database = open('postgres://postgres@nowhere.invalid/postgres');
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });

  it.each([
    ['the server speaks another protocol', [0x83, 0, 0, 0, 8, 1, 2, 3, 4]],
    ['the server requests an unknown authentication', [0x52, 0, 0, 0, 8, 0, 0, 0, 99]],
    ['the server sends a row with more columns than bytes', [0x44, 0, 0, 0, 6, 0, 5]],
  ])('if %s, leaving no connection open', async (_what, bytes) => {
    const clients: Socket[] = [];
    const other = createServer((socket) => {
      clients.push(socket);
      socket.once('data', () => socket.write(Buffer.from(bytes)));
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const database = open(`postgres://postgres@127.0.0.1:${port}/postgres`);
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
    await expect.poll(() => clients.map(({ closed }) => closed)).toEqual([true]);
    other.close();
  });

  it('within the time limit of the statement if the server accepts connections but never answers', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    // Connecting alone would not end.
    const limits = { connectTimeoutMs: 2 ** 30 };
    const database = open(`postgres://postgres@127.0.0.1:${port}/postgres`, limits);
    await expect(database.query(one, [], { timeoutMs: 200 })).rejects.toMatchObject(unavailable);
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it("if the server's own statement_timeout ends the statement", async () => {
    const url = new URL(server.url);
    url.searchParams.set('options', '-c statement_timeout=50');
    const database = open(url.href);
    const slow = database.query({ text: 'SELECT pg_sleep(10)' });
    await expect(slow).rejects.toMatchObject(unavailable);
  });

  it("with the driver's message in the cause", async () => {
    const database = open(withLogin('postgres', 'wrong'));
    await expect(database.query(one)).rejects.toMatchObject({
      message: 'the database is unavailable',
      cause: { code: '28P01' },
    });
  });
});

describe('the pool', () => {
  it('never hands out a connection that is still busy with an abandoned statement', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const slow = database.query({ text: 'SELECT pg_sleep(10)' }, [], { timeoutMs: 50 });
    await expect(slow).rejects.toMatchObject(unavailable);
    expect(await database.query(one, [], { timeoutMs: 2_000 })).toEqual([{ one: 1 }]);
  });

  it('cancels abandoned statements on the server', async () => {
    const database = open();
    const sleeping = "SELECT pg_sleep(600), 'given up'";
    await expect(database.query({ text: sleeping }, [], { timeoutMs: 50 })).rejects.toMatchObject(
      unavailable,
    );
    const running = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE query = $1 AND state = 'active'`;
    await vi.waitFor(async () => {
      expect(await database.query({ text: running }, [sleeping])).toEqual([{ count: 0 }]);
    });
  });

  it('keeps a connection after the server rejected a statement', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const pid = { text: 'SELECT pg_backend_pid() AS pid' };
    const before = await database.query(pid);
    await expect(database.query({ text: 'SELECT 1 / 0' })).rejects.toMatchObject({ code: '22012' });
    expect(await database.query(pid)).toEqual(before);
  });

  it('does not count the time in which no connection is free as time of the statement', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const holding = database.query({ text: 'SELECT pg_sleep(0.5)' });
    expect(await database.query(one, [], { timeoutMs: 400 })).toEqual([{ one: 1 }]);
    await holding;
  });

  it('gives up in time if no connection becomes free', async () => {
    const database = open(server.url, { maxConnections: 1, maxWaitMs: 50 });
    const holding = database.query({ text: 'SELECT pg_sleep(0.5)' });
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
    await holding;
    expect(database.poolStats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  it('counts its connections and waiting queries', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const queries = [1, 2, 3].map(() => database.query({ text: 'SELECT pg_sleep(0.05)' }));
    expect(database.poolStats()).toEqual({ total: 1, idle: 0, waiting: 2 });
    await Promise.all(queries);
    expect(database.poolStats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  it('opens a new connection after the server closed an idle one', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const [row] = await database.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' });
    const other = await connect(server.url);
    await other.query('SELECT pg_terminate_backend($1)', [row?.pid]);
    await other.end();
    await vi.waitFor(() => expect(database.poolStats().total).toBe(0));
    expect(await database.query(one)).toEqual([{ one: 1 }]);
  });

  it('fails running statements when the server stops, and works again after its restart', async () => {
    const database = open();
    const running = database.query({ text: 'SELECT pg_sleep(10)' });
    const failed = expect(running).rejects.toMatchObject(unavailable);
    await database.query(one);
    await server.halt();
    await failed;
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
    await server.restart();
    expect(await database.query(one)).toEqual([{ one: 1 }]);
  });

  it('finishes running statements before closing, closes once, and answers nothing afterwards', async () => {
    const database = open();
    const running = database.query({ text: "SELECT 'done' AS state FROM pg_sleep(0.1)" });
    const closing = Promise.all([database.close(), database.close()]);
    expect(await running).toEqual([{ state: 'done' }]);
    await closing;
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
  });
});

describe('prepared statements', () => {
  it('are prepared once per name', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const named = { name: 'answer', text: 'SELECT 42 AS answer' };
    await database.query(named);
    await database.query(named);
    const prepared = { text: 'SELECT name FROM pg_prepared_statements' };
    expect(await database.query(prepared)).toEqual([{ name: 'answer' }]);
  });

  it('keep working after a table has changed', async () => {
    const database = open(server.url, { maxConnections: 1 });
    await database.query({ text: 'CREATE TABLE changing AS SELECT 1 AS a' });
    const named = { name: 'changing', text: 'SELECT * FROM changing' };
    await database.query(named);
    await database.query({ text: 'ALTER TABLE changing ADD COLUMN b int DEFAULT 2' });
    expect(await database.query(named)).toEqual([{ a: 1, b: 2 }]);
    expect(await database.query(named)).toEqual([{ a: 1, b: 2 }]);
  });

  it('are not used if the connection loses them, as behind some poolers', async () => {
    const database = open(server.url, { maxConnections: 1 });
    const named = { name: 'lost', text: 'SELECT $1::int AS value' };
    await database.query(named, [1]);
    await database.query({ text: 'DEALLOCATE ALL' });
    expect(await database.query(named, [2])).toEqual([{ value: 2 }]);
    expect(await database.query(named, [3])).toEqual([{ value: 3 }]);
    const prepared = { text: 'SELECT name FROM pg_prepared_statements' };
    expect(await database.query(prepared)).toEqual([]);
  });
});
