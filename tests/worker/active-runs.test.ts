import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startRun } from '../../lib/records/recording/runs.ts';
import { STALE_RUN_MESSAGE } from '../../lib/records/runs/stale-runs.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { type GitServer, startGitServer } from '../support/git-server.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

let database: TestDatabase;
let server: GitServer;
const folder = useSharedFolder();

beforeAll(async () => {
  server = await startGitServer();
  const app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  server.serve('team/app.git', app.path);
});
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  database = await createPostgres();
});
afterEach(() => database.close());

let calls = 0;
const backUp = () =>
  callWorker({
    databaseUrl: database.url,
    archives: join(folder, `archives-${calls++}`),
    args: ['run', '--source', `${server.url}/team/app.git`],
  });
const insertRun = (columns: string, values: string) =>
  database.db.query({
    text: `INSERT INTO backup_runs (status, ${columns}) VALUES ('running', ${values})`,
  });
const runs = () =>
  rowsOf(
    database.db,
    'SELECT id, status, error_message, exclusive_key FROM backup_runs ORDER BY id',
  );

it('one of several concurrent workers runs, and the others end with exit code 75', async () => {
  const held = server.holdFetch();
  const ended: Awaited<ReturnType<typeof backUp>>[] = [];
  const refused = Promise.withResolvers<void>();
  const workers = Array.from({ length: 4 }, async () => {
    ended.push(await backUp());
    if (ended.length === 3) refused.resolve();
  });
  await refused.promise;
  const [run] = await rowsOf<{ id: number; started_at: string }>(
    database.db,
    'SELECT id, started_at FROM backup_runs',
  );
  const since = new Date(run?.started_at ?? '').toISOString().replace(/\.\d+/, '');
  for (const { code, stdout } of ended) {
    expect({ code, stdout }).toEqual({
      code: 75,
      stdout: `No run: run ${run?.id} is active since ${since}.\n`,
    });
  }
  held.release();
  await Promise.all(workers);
  expect(ended.at(-1)?.stdout).toContain('completed');
  expect(await runs()).toEqual([
    { id: run?.id, status: 'completed', error_message: '', exclusive_key: null },
  ]);
});

it('a run takes over from a worker whose heartbeat is older than three minutes, once', async () => {
  await insertRun(
    'started_at, heartbeat_at, exclusive_key',
    `now() - interval '1 hour', now() - interval '181 seconds', 'worker'`,
  );
  const starts = await Promise.all(
    Array.from({ length: 5 }, () => startRun(database.db, { totalRepos: 1, staleAfterMs: 60_000 })),
  );
  expect(starts.filter((start) => 'id' in start)).toHaveLength(1);
  expect(await runs()).toEqual([
    { id: 1, status: 'failed', error_message: STALE_RUN_MESSAGE, exclusive_key: null },
    { id: expect.any(Number), status: 'running', error_message: '', exclusive_key: 'worker' },
  ]);
  const [abandoned] = await rowsOf(
    database.db,
    'SELECT duration_ms >= 3600000 AS lasted, completed_at IS NOT NULL AS ended FROM backup_runs WHERE id = 1',
  );
  expect(abandoned).toEqual({ lasted: true, ended: true });
});

it('a run does not take over from a worker whose heartbeat is younger than three minutes', async () => {
  await insertRun(
    'started_at, heartbeat_at, exclusive_key',
    `now() - interval '1 hour', now() - interval '170 seconds', 'worker'`,
  );
  expect((await backUp()).stdout).toContain('No run: run 1 is active since');
});

it('a run frees the key of an earlier run that something else ended', async () => {
  await database.db.query({
    text: `INSERT INTO backup_runs (status, error_message, exclusive_key)
           VALUES ('failed', 'ended elsewhere', 'worker')`,
  });
  expect((await backUp()).stdout).toContain('completed');
  expect((await runs())[0]).toMatchObject({ status: 'failed', error_message: 'ended elsewhere' });
});

it.each([
  ['started recently', `now() - interval '20 minutes'`, ''],
  [
    'wrote a log recently',
    `now() - interval '2 hours'`,
    'INSERT INTO execution_logs (run_id, message) VALUES (1, $$x$$)',
  ],
  [
    'wrote a result recently',
    `now() - interval '2 hours'`,
    'INSERT INTO backup_results (run_id, repo_full_name) VALUES (1, $$a/b$$)',
  ],
])(
  'a run is rejected while the run of another writer is active: it %s',
  async (_, startedAt, sign) => {
    await insertRun('started_at', startedAt);
    if (sign !== '') await database.db.query({ text: sign });
    const { code, stdout } = await backUp();
    expect({ code, stdout }).toEqual({
      code: 75,
      stdout: expect.stringContaining('run 1 is active'),
    });
  },
);

it('a run is not blocked by a stale run of another writer, and leaves that to the sweep', async () => {
  await insertRun('started_at', `now() - interval '31 minutes'`);
  expect((await backUp()).stdout).toContain('completed');
  expect((await runs())[0]).toMatchObject({ id: 1, status: 'running' });
});

it('a refused run raises the alert that the active one takes unusually long', async () => {
  await insertRun(
    'duration_ms, started_at',
    "60000, now() - interval '1 day') , ('running', 0, now()",
  );
  await database.db.query({
    text: `UPDATE backup_runs SET status = 'completed' WHERE duration_ms > 0`,
  });
  await database.db.query({
    text: `UPDATE backup_runs SET exclusive_key = 'worker', heartbeat_at = now(), started_at = now() - interval '1 hour'
      WHERE status = 'running'`,
  });
  expect((await backUp()).code).toBe(75);
  const incidents = "SELECT rule FROM incidents WHERE rule = 'run_slow' AND resolved_at IS NULL";
  expect(await rowsOf(database.db, incidents)).toEqual([{ rule: 'run_slow' }]);
});
