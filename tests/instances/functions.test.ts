import { execFileSync } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createHostedBackupsApp } from '../../lib/backups/backups-function.ts';
import { openPgDatabase } from '../../lib/database/pg.ts';
import { createHostedMcpApp } from '../../lib/mcp/mcp-function.ts';
import { createHostedObservatoryApp } from '../../lib/observatory/observatory-function.ts';
import { waitFor } from '../support/chat.ts';
import { connect } from '../support/connection.ts';
import { silentLog } from '../support/databases.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { TEST_TOKEN } from '../support/mcp.ts';
import { neonUrl, startNeonEndpoint } from '../support/neon-http.ts';
import { observatoryEnvironment } from '../support/observatory-client.ts';

// Which database connections instances of the deployed functions hold, and when.

const platformContext = Symbol.for('@vercel/request-context');

const database = useDatabase();
let admin: Client;
beforeAll(async () => {
  admin = await connect(database.url);
});
afterAll(() => admin.end());

/** Promises for which the platform must stay awake, and which have not settled yet. */
const awakeFor = new Set<Promise<unknown>>();
let instance: Awaited<ReturnType<typeof createHostedBackupsApp>>;
beforeAll(async () => {
  const waitUntil = (work: Promise<unknown>) => {
    awakeFor.add(work);
    void work.finally(() => awakeFor.delete(work));
  };
  Reflect.set(globalThis, platformContext, { get: () => ({ waitUntil }) });
  instance = await createHostedBackupsApp(
    { DATABASE_URL: database.url, INTERNAL_SECRET: TEST_SECRET },
    () => undefined,
  );
});
afterAll(() => Reflect.deleteProperty(globalThis, platformContext));

const ask = () => instance.request('/api/backups', { headers: withSecret });

/** The backend processes of our connections. */
async function connections(): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'backup-observatory'`,
  );
  return rows.map(({ pid }) => pid);
}

/** Ends connections like a server that restarts or reclaims them. */
async function terminate(pids: readonly (number | undefined)[]): Promise<void> {
  await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
  const areGone = async () => !(await connections()).some((pid) => pids.includes(pid));
  await waitFor(async () => (await areGone()) || null, 'the end of the connections');
}

const terminateAll = `
  import pg from 'pg';
  const client = new pg.Client({ connectionString: process.env.DATABASE });
  await client.connect();
  const { rowCount } = await client.query(
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity" +
    " WHERE datname = current_database() AND application_name = 'backup-observatory'",
  );
  process.exit(rowCount > 0 ? 0 : 1);
`;

describe('an instance', () => {
  it('opens no connection before its first request, whatever the function', async () => {
    const { url: DATABASE_URL } = database;
    const environment = { ...observatoryEnvironment, DATABASE_URL, MCP_AUTH_TOKEN: TEST_TOKEN };
    for (let n = 0; n < 20; n++) {
      await createHostedBackupsApp({ ...environment, INTERNAL_SECRET: TEST_SECRET });
      await createHostedMcpApp(environment);
      await createHostedObservatoryApp(environment, null);
    }
    expect(await connections()).toEqual([]);
  });

  it('answers 200 consecutive requests over one connection', async () => {
    const seen = new Set<number>();
    for (let n = 0; n < 200; n++) {
      expect((await ask()).status).toBe(200);
      if (n % 20 === 0) for (const pid of await connections()) seen.add(pid);
    }
    expect(seen.size).toBe(1);
  });

  it('uses at most 10 connections, however many requests are concurrent', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, ask));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await connections()).length).toBeLessThanOrEqual(10);
  });

  it('is not affected if the server ends its connections between requests', async () => {
    await Promise.all(Array.from({ length: 20 }, ask));
    const before = await connections();
    await terminate(before);
    expect((await ask()).status).toBe(200);
    expect(before).not.toContain((await connections())[0]);
  });

  it('answers 503 if that happens during a request, and then recovers', async () => {
    await terminate(await connections());
    const other = await connect(database.url);
    await other.query('BEGIN; LOCK TABLE backup_runs IN ACCESS EXCLUSIVE MODE');
    const asking = ask();
    const pid = await waitFor(async () => (await connections())[0] ?? null, 'a connection');
    await waitFor(async () => {
      const { rows } = await admin.query(
        "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'",
        [pid],
      );
      return rows.length > 0 || null;
    }, 'a statement that waits');
    await terminate([pid]);
    const response = await asking;
    await other.end();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.text()).not.toMatch(/terminat/i);
    expect((await ask()).status).toBe(200);
  });

  it('asks the platform once for all requests to keep it awake while it has connections', async () => {
    for (let n = 0; n < 5; n++) await ask();
    expect(awakeFor.size).toBe(1);
    await terminate(await connections());
    await Promise.all(awakeFor);
  });
});

it('an instance reuses its connections to Neon', async () => {
  const neon = await startNeonEndpoint(database.url);
  // The function calls Neon with the runtime's own fetch.
  vi.stubGlobal('fetch', neon.fetch);
  const environment = { DATABASE_URL: neonUrl(database.url), INTERNAL_SECRET: TEST_SECRET };
  const app = await createHostedBackupsApp(environment, () => undefined);
  vi.unstubAllGlobals();
  const askNeon = () => app.request('/api/backups', { headers: withSecret });
  const sockets = () =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith('TCPSocket')).length;
  await askNeon();
  const before = sockets();
  for (let n = 0; n < 100; n++) expect((await askNeon()).status).toBe(200);
  // A few more may belong to the stand-in.
  expect(sockets() - before).toBeLessThan(10);
  await neon.close();
});

it('a database closes its idle connections, and reports when none is left', async () => {
  const { url } = database;
  const awake: Promise<void>[] = [];
  const stayAwake = (until: Promise<void>) => awake.push(until);
  const db = openPgDatabase({ url, fetch, log: silentLog, idleTimeoutMs: 10, stayAwake });
  const slow = { text: 'SELECT pg_sleep(0.05)' };
  await Promise.all([db.query(slow), db.query(slow)]);
  await Promise.all(awake);
  expect(db.poolStats()).toEqual({ total: 0, idle: 0, waiting: 0 });
  await db.close();
});

it('a database that was frozen does not reuse a connection that has ended meanwhile', async () => {
  const db = openPgDatabase({ url: database.url, fetch, log: silentLog });
  await db.query({ text: 'SELECT 1' });
  // An iteration of the event loop starts with nothing left to read.
  await nextTurn();
  // Another process ends the connection while this one is blocked.
  execFileSync(process.execPath, ['--input-type=module', '-e', terminateAll], {
    env: { DATABASE: database.url },
  });
  expect(await db.query({ text: 'SELECT 2 AS n' })).toEqual([{ n: 2 }]);
  await db.close();
});
