import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../support/chat.ts';
import { connect } from '../support/connection.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { emptyFolder, startIn } from '../support/local-start.ts';

// Stops a server process that has its own Postgres: running work is finished, and nothing is left behind.

const database = useDatabase();
let folder: Awaited<ReturnType<typeof emptyFolder>>;
let server: Awaited<ReturnType<typeof startIn>>;
beforeAll(async () => {
  folder = await emptyFolder();
  server = await startIn(folder.path, {
    DATABASE_URL: database.url,
    INTERNAL_SECRET: TEST_SECRET,
    LOG_LEVEL: 'warn',
  });
});
afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.finished;
  await folder.remove();
});

/** Blocks a statement of the server while `work` runs, and returns the response of its request. */
async function whileWaiting(work: () => Promise<void>): Promise<Response> {
  const other = await connect(database.url);
  const admin = await connect(database.url);
  await other.query('BEGIN; LOCK TABLE backup_runs IN ACCESS EXCLUSIVE MODE');
  const answer = fetch(`${server.url}/api/backups`, { headers: withSecret });
  await waitFor(async () => {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0 || null;
  }, 'a statement that waits');
  await work();
  await other.end();
  await admin.end();
  return answer;
}

/** Whether the server accepts a new connection. */
async function takesConnections(): Promise<boolean> {
  const { hostname, port } = new URL(server.url);
  const socket = connectSocket(Number(port), hostname);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

it('a server that is told to stop finishes running requests, accepts no new ones, and exits', async () => {
  const response = await whileWaiting(async () => {
    server.child.kill('SIGTERM');
    await waitFor(async () => !(await takesConnections()) || null, 'a closed door');
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ data: [] });
  const { code } = await server.finished;
  expect([code, server.output()]).toEqual([0, expect.not.stringContaining('cut off')]);
  const admin = await connect(database.url);
  const { rows } = await admin.query(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'backup-observatory'`,
  );
  await admin.end();
  // The database handle of this file has no open connection.
  expect(rows).toEqual([]);
});
