import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { claimRequests } from '../../lib/records/recording/requests.ts';
import { startRun } from '../../lib/records/recording/runs.ts';
import { connect, createPostgres, type TestDatabase } from '../support/databases.ts';
import { createRepository, temporaryFolder } from '../support/git.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

let database: TestDatabase;
let folder: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ path: folder, remove } = await temporaryFolder());
  const app = await createRepository(join(folder, 'App'));
  await app.commit({ 'a.txt': 'a' });
  await mkdir(join(folder, 'plain'));
});
afterAll(() => remove());
beforeEach(async () => {
  database = await createPostgres();
});
afterEach(() => database.close());

const backUp = (archives = join(folder, 'archives')) =>
  callWorker({
    databaseUrl: database.url,
    archives,
    folder,
    args: ['run', '--source', 'App', '--source', 'plain'],
  });
const request = (target: string | null, status = 'pending', runId: number | null = null) =>
  database.db.query(
    {
      text: `INSERT INTO backup_run_requests (target_repo, status, run_id, requested_by, reason)
             VALUES ($1, $2, $3, 'mcp', 'because')`,
    },
    [target, status, runId],
  );
const requests = () =>
  rowsOf(
    database.db,
    `SELECT target_repo, status, run_id, claimed_at IS NOT NULL AS claimed
    FROM backup_run_requests ORDER BY id`,
  );

it('claims what is pending and closes each by how its repository ended', async () => {
  for (const target of [null, 'local/app', 'local/plain', 'team/other']) await request(target);
  await request('local/app', 'completed');
  const { stderr } = await backUp();
  const claimed = { run_id: 1, claimed: true };
  expect(await requests()).toEqual([
    { target_repo: null, status: 'completed', ...claimed },
    { target_repo: 'local/app', status: 'completed', ...claimed },
    { target_repo: 'local/plain', status: 'failed', ...claimed },
    { target_repo: 'team/other', status: 'failed', ...claimed },
    { target_repo: 'local/app', status: 'completed', run_id: null, claimed: false },
  ]);
  const logs = 'SELECT level, message FROM execution_logs ORDER BY id';
  expect(await rowsOf(database.db, logs)).toEqual(
    expect.arrayContaining([
      { level: 'info', message: 'claimed request 1 of mcp for all repositories: because' },
      {
        level: 'warn',
        message: 'request 4 of mcp for team/other fails: it is not among the sources of this run',
      },
    ]),
  );
  expect(stderr).toContain('warn: request 4 of mcp');
});

it('counts a repository without changes as backed up', async () => {
  await backUp();
  await request('local/app');
  await backUp();
  expect(await requests()).toEqual([
    { target_repo: 'local/app', status: 'completed', run_id: 2, claimed: true },
  ]);
});

it('fails every claimed request when the run fails', async () => {
  await request(null);
  const archives = join(folder, 'no-folder');
  await writeFile(archives, '');
  await backUp(archives);
  expect(await requests()).toMatchObject([{ status: 'failed', run_id: 1 }]);
});

it('fails what a worker claimed that never ended its run, and nothing of a running one', async () => {
  for (const status of ['failed', 'running']) {
    await database.db.query(
      {
        text: `INSERT INTO backup_runs (status, started_at)
               VALUES ($1, now() - interval '1 day')`,
      },
      [status],
    );
  }
  await request(null, 'claimed', 1);
  await request(null, 'claimed', 2);
  await backUp();
  expect(await requests()).toMatchObject([{ status: 'failed' }, { status: 'claimed' }]);
});

it('never claims a request twice, and waits for nobody', async () => {
  for (let count = 0; count < 30; count++) await request(null);
  const other = await connect(database.url);
  await other.query('BEGIN; SELECT * FROM backup_run_requests WHERE id = 7 FOR UPDATE');
  const start = await startRun(database.db, { totalRepos: 0, staleAfterMs: 1 });
  const runId = 'id' in start ? start.id : Number.NaN;
  // Run ids that stand for other workers: claims are kept apart by row locks alone.
  const claims = await Promise.all([0, 1, 2].map((n) => claimRequests(database.db, runId + n)));
  await other.query('ROLLBACK');
  await other.end();
  const ids = claims.flat().map(({ id }) => id);
  expect(ids.sort((a, b) => a - b)).toEqual(
    Array.from({ length: 30 }, (_, index) => index + 1).filter((id) => id !== 7),
  );
});

it('returns what it claimed already when it is repeated', async () => {
  await request('local/app');
  const start = await startRun(database.db, { totalRepos: 0, staleAfterMs: 1 });
  const runId = 'id' in start ? start.id : Number.NaN;
  const first = await claimRequests(database.db, runId);
  await request(null);
  expect(await claimRequests(database.db, runId)).toEqual([
    ...first,
    { id: 2, target: null, requestedBy: 'mcp', reason: 'because' },
  ]);
});
