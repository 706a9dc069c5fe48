import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import type { EmbeddedDatabase } from '../../../lib/database/embedded/open.ts';
import { socketOf } from '../../support/connection.ts';
import { useSharedFolder } from '../../support/folders.ts';
import { openTemporary } from './open-temporary.ts';

// Programs with which people inspect the embedded database: psql, pg_dump and Drizzle Studio.

const password = 'a/long:pass@word';
let db: EmbeddedDatabase;
const folder = useSharedFolder();
beforeAll(async () => {
  db = await openTemporary(systemClock, { port: 0, password });
  await db.query({ text: "INSERT INTO execution_logs (message) VALUES ('first'), ('second')" });
});
afterAll(async () => {
  await db.close();
});

/** The major version of a Postgres program; null if it is not installed. */
function versionOf(program: string): number | null {
  try {
    const said = execFileSync(program, ['--version'], { encoding: 'utf8' });
    return Number(/\(PostgreSQL\) (\d+)/.exec(said)?.[1]);
  } catch {
    return null;
  }
}
const psqlVersion = versionOf('psql');
const dumpVersion = versionOf('pg_dump');

describe.skipIf(psqlVersion === null)('psql (skipped where it is not installed)', () => {
  async function psql(script: string, url = db.url): Promise<string> {
    const { stdout } = await execa('psql', ['-X', '-q', '-At', url], { input: script });
    return stdout;
  }

  it('runs a query', async () => {
    expect(await psql("SELECT 7, 'seven';")).toBe('7|seven');
  });

  it('runs transactions, and keeps its settings', async () => {
    const script = `CREATE TABLE p (a int);
      SET timezone = 'Europe/Paris';
      BEGIN; INSERT INTO p VALUES (1); ROLLBACK;
      BEGIN; INSERT INTO p VALUES (2); COMMIT;
      SELECT a, current_setting('TimeZone') FROM p;`;
    expect(await psql(script)).toBe('2|Europe/Paris');
    expect(await db.query({ text: 'SELECT a FROM p' })).toEqual([{ a: 2 }]);
  });

  it('describes tables and functions', async () => {
    expect(await psql('\\d')).toContain('public|execution_logs|table|observatory');
    expect(await psql('\\d execution_logs')).toMatch(/^message\|/m);
    expect(await psql('\\df')).toContain('search');
  });

  it('copies a table to a file', async () => {
    await psql(`\\copy (SELECT message FROM execution_logs ORDER BY 1) TO '${folder}/names'`);
    expect((await execa('cat', [`${folder}/names`])).stdout).toBe('first\nsecond');
  });

  it('logs in over the port with the password', async () => {
    expect(await psql('SELECT 7;', db.portUrl ?? '')).toBe('7');
  });
});

describe.skipIf(dumpVersion === null)('pg_dump (skipped where it is not installed)', () => {
  let server: Server;
  beforeAll(async () => {
    server = await forgeVersion(`${folder}/.s.PGSQL.5432`, dumpVersion ?? 0);
  });
  afterAll(() => server.close());

  it('dumps tables and rows, repeatedly', async () => {
    for (const _ of [1, 2]) {
      const { stdout } = await execa('pg_dump', ['-h', folder, '-U', 'postgres', 'postgres']);
      expect(stdout).toContain('CREATE TABLE public.execution_logs (');
      expect(stdout).toMatch(
        /^COPY public\.execution_logs \(.*message.*\) FROM stdin;\n.*first.*\n.*second.*\n\\\.$/m,
      );
      expect(stdout).toContain('-- PostgreSQL database dump complete');
    }
  });
});

/**
 * A socket that forwards to the database's and reports the client's version as that of the server: pg_dump rejects a
 * newer server, and a machine's pg_dump is often older than the embedded Postgres.
 */
async function forgeVersion(path: string, version: number): Promise<Server> {
  const actual = /server_version\0\d+\.\d+\0/;
  const server = createServer((client) => {
    const database = connect(socketOf(db.url));
    client.pipe(database).on('error', () => client.destroy());
    database.on('end', () => client.end());
    database.on('data', (data) => {
      const text = data.toString('latin1');
      client.write(text.replace(actual, `server_version\0${version}.0\0`), 'latin1');
    });
    client.on('error', () => database.destroy());
  });
  await once(server.listen(path), 'listening');
  return server;
}

describe('Drizzle Studio', () => {
  const port = 20_000 + (process.pid % 10_000);
  let studio: ChildProcess;
  beforeAll(async () => {
    const config = join(folder, 'drizzle.json');
    const schema = './drizzle/schema.ts';
    const dbCredentials = { url: db.url };
    await writeFile(config, JSON.stringify({ dialect: 'postgresql', schema, dbCredentials }));
    const args = ['node_modules/drizzle-kit/bin.cjs', 'studio', '--config', config];
    studio = spawn(process.execPath, [...args, '--port', `${port}`, '--host', '127.0.0.1'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // Without a PATH there is no mkcert, and thus no TLS.
      env: { HOME: folder, PATH: '' },
    });
    for await (const said of studio.stdout ?? []) {
      if (String(said).includes('up and running')) break;
    }
  });
  afterAll(() => studio.kill());

  /** Sends a request like the page of Drizzle Studio. */
  async function ask(type: string, data?: unknown): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ type, data }),
    });
    return response.json();
  }

  it('connects, and lists tables with their columns', async () => {
    expect(await ask('init')).toMatchObject({ dialect: 'postgresql', packageName: 'pg' });
    const sql = `SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'message' AND table_name = $1`;
    const data = { sql, params: ['execution_logs'], mode: 'array', method: 'all' };
    expect(await ask('proxy', data)).toEqual([['execution_logs', 'message']]);
  });

  it('pages through a table and edits it in a transaction', async () => {
    const insert = `INSERT INTO execution_logs (message) VALUES ('third')`;
    await ask('tproxy', [{ sql: insert, method: 'run' }]);
    const sql = 'SELECT message FROM execution_logs ORDER BY message LIMIT $1 OFFSET $2';
    const data = { sql, params: [2, 1], mode: 'object', method: 'all' };
    expect(await ask('proxy', data)).toEqual([{ message: 'second' }, { message: 'third' }]);
    await ask('tproxy', [{ sql: "DELETE FROM execution_logs WHERE message = 'third'" }]);
    expect(await ask('proxy', data)).toEqual([{ message: 'second' }]);
  });
});
