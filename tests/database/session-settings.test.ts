import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket, createServer, type Server } from 'node:net';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openPgDatabase } from '../../lib/database/pg.ts';
import { createEmbedded, silentLog } from '../support/databases.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';

const shown = {
  text: `SELECT current_setting('jit') AS jit, current_setting('work_mem') AS work_mem,
    current_setting('max_parallel_workers_per_gather') AS workers`,
};
const wanted = { jit: 'off', workers: '0' };

let server: PostgresServer;
const opened: Database[] = [];
const open = (url: string) => {
  const database = openPgDatabase({ url, fetch, log: silentLog, maxConnections: 2 });
  opened.push(database);
  return database;
};

beforeAll(async () => {
  server = await startPostgres({ jit: 'on' });
});
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await server.stop();
});

/** A pooler that refuses startup options, in front of the server. */
async function startPooler(refusal: { code: string; message: string }): Promise<Server> {
  const { hostname, port } = new URL(server.url);
  const pooler = createServer(async (socket) => {
    const [startup] = (await once(socket, 'data')) as [Buffer];
    if (startup.includes('options\0')) {
      const fields = `SFATAL\0VFATAL\0C${refusal.code}\0M${refusal.message}\0\0`;
      const head = Buffer.from([0x45, 0, 0, 0, 4 + Buffer.byteLength(fields)]);
      socket.end(Buffer.concat([head, Buffer.from(fields)]));
      return;
    }
    const upstream = connectSocket(Number(port), hostname);
    for (const one of [socket, upstream]) one.on('error', () => one.destroy());
    upstream.write(startup);
    upstream.pipe(socket).pipe(upstream);
  });
  await once(pooler.listen(0, '127.0.0.1'), 'listening');
  return pooler;
}

describe('every session', () => {
  it('has the settings', async () => {
    expect(await open(server.url).query(shown)).toMatchObject([wanted]);
  });

  it('keeps the options of the URL, which take precedence', async () => {
    const url = new URL(server.url);
    url.searchParams.set('options', '-c work_mem=7MB -c max_parallel_workers_per_gather=1');
    expect(await open(url.href).query(shown)).toEqual([
      { jit: 'off', work_mem: '7MB', workers: '1' },
    ]);
  });

  it.each([
    ['PgBouncer', '08P01', 'unsupported startup parameter: options'],
    [
      'RDS Proxy',
      '0A000',
      'Feature not supported: RDS Proxy does not support command-line options.',
    ],
  ])(
    'has the settings behind a pooler that refuses options, such as %s',
    async (_, code, message) => {
      const pooler = await startPooler({ code, message });
      const url = new URL(server.url);
      url.port = String((pooler.address() as AddressInfo).port);
      const database = open(url.href);
      const both = await Promise.all([database.query(shown), database.query(shown)]);
      expect(both).toMatchObject([[wanted], [wanted]]);
      await database.close();
      pooler.close();
    },
  );

  it('of the embedded database has the settings', async () => {
    const { db, close } = await createEmbedded();
    expect(await db.query(shown)).toMatchObject([wanted]);
    await close();
  });
});

describe('after migrating', () => {
  it('sessions without options have the settings too, as those of Neon over HTTP', async () => {
    await migrate(open(server.url), 'drizzle');
    const client = new Client(server.url);
    await client.connect();
    expect((await client.query(shown.text)).rows).toMatchObject([wanted]);
    await client.end();
    expect(await migrate(open(server.url), 'drizzle')).toBe(0);
  });
});
