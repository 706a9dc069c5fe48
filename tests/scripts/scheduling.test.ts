import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TEST_SECRET } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { useHostedWorker } from '../support/hosted-worker.ts';
import { startIn } from '../support/local-start.ts';
import { descendantsOf, ended } from '../support/processes.ts';
import { rowsOf } from '../support/worker.ts';

type Server = Awaited<ReturnType<typeof startIn>>;

const database = useDatabase();
const bench = useHostedWorker(database);
const servers: Server[] = [];

beforeEach(async () => {
  await database.db.query({ text: 'TRUNCATE schedules, backup_run_requests' });
  await bench.add({ fullName: 'team/a' });
  await bench.add({ fullName: 'team/b' });
  await bench.logIn();
});
afterEach(async () => {
  for (const { child, finished } of servers.splice(0)) {
    child.kill('SIGKILL');
    await finished;
  }
});

const environment = () => ({
  ...bench.env,
  DATABASE_URL: database.url,
  DATA_DIR: join(bench.folder, 'data'),
  BACKUP_ARCHIVE_PATH: bench.archives,
  INTERNAL_SECRET: TEST_SECRET,
  DRILL_BUDGET_MINUTES: '0',
});
const start = async (env: Record<string, string> = {}, folder = bench.folder) => {
  const server = await startIn(folder, { ...environment(), ...env });
  servers.push(server);
  return server;
};
const ask = (url: string, target: string | null) =>
  fetch(`${url}/api/run-requests`, {
    method: 'POST',
    headers: { 'X-Internal-Secret': TEST_SECRET, 'Content-Type': 'application/json' },
    body: JSON.stringify({ target_repo: target }),
  });
const runs = () =>
  rowsOf(
    database.db,
    `SELECT status, error_message, total_repos, successful, skipped, covers_all, schedule_id IS NOT NULL AS scheduled
     FROM backup_runs ORDER BY id`,
  );
const workersOf = async (server: Server) =>
  (await descendantsOf(server.child.pid ?? 0)).filter(({ command }) =>
    command.includes(' worker '),
  );

/** Holds every request for a repository until it is released. */
const hold = (name: string) => {
  const came = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  bench.http.answers.set(name, async (c) => {
    came.resolve();
    await released.promise;
    return bench.http.serve(c);
  });
  return {
    came: came.promise,
    release() {
      bench.http.answers.delete(name);
      released.resolve();
    },
  };
};
const completed = /Run \d+ completed: \d+ repositor/;

describe('npm start with BACKUP_EVERY', () => {
  it('runs the worker as a process of its own, with its own heap and no secret in its arguments', async () => {
    const held = hold('team/a');
    const server = await start({ BACKUP_EVERY: '1d', WORKER_MEMORY_MIB: '300' });
    await held.came;
    const [worker] = await workersOf(server);
    expect(worker?.command).toMatch(
      /--max-old-space-size=300 .*launch\.mjs worker run --schedule \d+ $/,
    );
    expect(worker?.command).not.toContain(TEST_SECRET);
    held.release();
    await server.waitFor(
      /"level":"info","message":"Run \d+ completed: 2 repositories, 2 backed up/,
    );
    expect(await runs()).toMatchObject([
      { status: 'completed', total_repos: 2, covers_all: true, scheduled: true },
    ]);
  });

  it('starts the worker again when it was killed, and opens an incident', async () => {
    const held = hold('team/a');
    const server = await start({ BACKUP_EVERY: '1d' });
    await held.came;
    const [worker] = await workersOf(server);
    process.kill(worker?.pid ?? 0, 'SIGKILL');
    await server.waitFor(/"level":"error","message":"the worker crashed and is started again"/);
    held.release();
    await server.waitFor(completed);
    expect(await runs()).toMatchObject([
      {
        status: 'failed',
        error_message: 'The backup worker stopped without finishing this run.',
      },
      { status: 'completed' },
    ]);
    const opened = await rowsOf(database.db, 'SELECT rule FROM incidents');
    expect(opened).toContainEqual({ rule: 'run_failed' });
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends the worker on %s, and makes up for its run after the next start',
    async (name) => {
      const held = hold('team/a');
      const server = await start({ BACKUP_EVERY: '1d' });
      await held.came;
      const workers = await descendantsOf(server.child.pid ?? 0);
      server.child.kill(name);
      expect((await server.finished).code).toBe(0);
      await ended(workers.map(({ pid }) => pid));
      expect(await runs()).toMatchObject([
        { status: 'failed', error_message: 'interrupted by SIGTERM' },
      ]);
      held.release();
      const next = await start({ BACKUP_EVERY: '1d' });
      await next.waitFor(completed);
      expect(await runs()).toMatchObject([{ status: 'failed' }, { status: 'completed' }]);
    },
  );

  it('leaves no worker behind when it is killed', async () => {
    const held = hold('team/a');
    const server = await start({ BACKUP_EVERY: '1d' });
    await held.came;
    const workers = await workersOf(server);
    server.child.kill('SIGKILL');
    await server.finished;
    await ended(workers.map(({ pid }) => pid));
    held.release();
    expect(workers).toHaveLength(1);
  });

  it('starts one run on two machines with one database', async () => {
    const held = hold('team/a');
    const first = await start({ BACKUP_EVERY: '1d' });
    await held.came;
    const second = await start({ BACKUP_EVERY: '1d', DATA_DIR: join(bench.folder, 'other') });
    held.release();
    await first.waitFor(completed);
    await nextRunsKnown(2);
    expect(await workersOf(second)).toEqual([]);
    expect(await runs()).toHaveLength(1);
  });

  it('steps back behind a worker with --every', async () => {
    await bench.run({ databaseUrl: database.url, isTerminal: false });
    await database.db.query({ text: 'UPDATE backup_runs SET schedule_ms = 3600000' });
    await start({ BACKUP_EVERY: '1h' });
    await nextRunsKnown(1);
    const [next] = await rowsOf(
      database.db,
      `SELECT extract(epoch FROM next_at - started_at)::int AS after FROM schedules, backup_runs`,
    );
    expect(next).toEqual({ after: 65 * 60 });
    expect(await runs()).toHaveLength(1);
  });

  it('says why the worker began no run', async () => {
    const nobody = { BACKUP_CONFIG_DIR: join(bench.folder, 'empty'), BACKUP_EVERY: 'daily' };
    const server = await start({ ...nobody, KEYCHAIN: 'off' });
    await server.waitFor(
      /"the worker began no run","code":4,"reason":"no run: say what to back up/,
    );
    expect(await runs()).toEqual([]);
  });

  it('works with the embedded database, from the first start on', async () => {
    const { DATABASE_URL: _, ...env } = environment();
    const server = await startIn(bench.folder, { ...env, BACKUP_EVERY: '1d' });
    servers.push(server);
    await server.waitFor(completed);
    server.child.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
  });
});

describe('a run that a person stops', () => {
  it('ends in order, is recorded as stopped by that person, and is not made up for', async () => {
    const held = hold('team/a');
    const server = await start({ BACKUP_EVERY: '1d' });
    await held.came;
    const [run] = await rowsOf(database.db, 'SELECT id FROM backup_runs');
    const path = `${server.url}/api/backups/${run?.id}`;
    const headers = { 'X-Internal-Secret': TEST_SECRET };
    expect((await fetch(`${path}/stop`, { method: 'POST', headers })).status).toBe(202);
    await server.waitFor(/Run \d+ failed \(stopped by api\)/);
    held.release();
    const { run: ended } = (await (await fetch(path, { headers })).json()) as { run: object };
    expect(ended).toMatchObject({
      ...{ status: 'failed', is_stopped: true, error_message: 'stopped by api' },
    });
    await nextRunsKnown(1);
    expect(await runs()).toHaveLength(1);
    expect((await fetch(`${path}/stop`, { method: 'POST', headers })).status).toBe(409);
    const unknown = `${server.url}/api/backups/999999/stop`;
    expect((await fetch(unknown, { method: 'POST', headers })).status).toBe(404);
  });
});

describe('“Back up now”', () => {
  it('starts at once without any schedule, for the repository that was asked for', async () => {
    const server = await start();
    await bench.run({ databaseUrl: database.url });
    expect((await ask(server.url, 'team/b')).status).toBe(201);
    await server.waitFor(/Run \d+ completed: 1 repository/);
    expect((await runs())[1]).toMatchObject({
      total_repos: 1,
      covers_all: false,
      scheduled: false,
    });
    expect((await ask(server.url, null)).status).toBe(201);
    await server.waitFor(/Run \d+ completed: 2 repositories/);
    const requests = 'SELECT status FROM backup_run_requests';
    expect(await rowsOf(database.db, requests)).toEqual([
      { status: 'completed' },
      { status: 'completed' },
    ]);
  });

  it('is done again when its worker was killed', async () => {
    const server = await start();
    await bench.run({ databaseUrl: database.url });
    const held = hold('team/b');
    await ask(server.url, 'team/b');
    await held.came;
    const [worker] = await workersOf(server);
    process.kill(worker?.pid ?? 0, 'SIGKILL');
    await server.waitFor(/the worker crashed/);
    held.release();
    await server.waitFor(/Run \d+ completed: 1 repository/);
    expect(await rowsOf(database.db, 'SELECT status FROM backup_run_requests')).toEqual([
      { status: 'completed' },
    ]);
  });
});

/** Resolves when all these schedules know their next run, later than now. Only the test's time limit ends the wait. */
async function nextRunsKnown(count: number): Promise<void> {
  for (;;) {
    const known = await rowsOf(database.db, 'SELECT id FROM schedules WHERE next_at > now()');
    if (known.length === count) return;
  }
}
