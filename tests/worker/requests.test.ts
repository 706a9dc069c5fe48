import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { claimRequests } from '../../lib/records/recording/requests.ts';
import { startRun } from '../../lib/records/recording/runs.ts';
import { RunStopped } from '../../lib/worker/base/stop.ts';
import { connect } from '../support/connection.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository, git } from '../support/git.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

let database: TestDatabase;
const folder = useSharedFolder();

beforeAll(async () => {
  for (const name of ['App', 'Other', 'Odd Näme.git-ish (1)']) {
    const repository = await createRepository(join(folder, name));
    await repository.commit({ 'a.txt': name });
  }
  // A shallow clone can be read, but is not backed up.
  const app = join(folder, 'App');
  await writeFile(join(app, 'b.txt'), 'b');
  await git(app, 'add', '.');
  await git(app, 'commit', '--quiet', '--message=b');
  await git(folder, 'clone', '--quiet', '--depth=1', `file://${app}`, 'plain');
});
beforeEach(async () => {
  database = await createPostgres();
});
afterEach(() => database.close());

const backUp = (sources = ['App', 'plain'], archives = join(folder, 'archives')) =>
  callWorker({
    databaseUrl: database.url,
    archives,
    folder,
    args: ['run', ...sources.flatMap((source) => ['--source', source])],
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

const logLines = () =>
  rowsOf<{ message: string }>(database.db, 'SELECT message FROM execution_logs ORDER BY id').then(
    (rows) => rows.map(({ message }) => message),
  );

const pending = { status: 'pending', run_id: null, claimed: false };

it('a run claims requests for its sources and closes each with the outcome of its repository', async () => {
  for (const target of ['local/app', 'local/plain']) await request(target);
  await request('local/app', 'completed');
  await backUp();
  const claimed = { run_id: 1, claimed: true };
  expect(await requests()).toEqual([
    { target_repo: 'local/app', status: 'completed', ...claimed },
    { target_repo: 'local/plain', status: 'failed', ...claimed },
    { target_repo: 'local/app', status: 'completed', run_id: null, claimed: false },
  ]);
  expect(await logLines()).toContain('claimed request 1 by mcp for local/app: because');
});

it('a run leaves requests that it does not fulfil pending, and logs that', async () => {
  await backUp(['App', 'Other']);
  for (const target of [null, '', 'local/app', 'team/gone\nforged line']) await request(target);
  const { stderr } = await backUp(['Other']);
  expect(await requests()).toEqual([
    { target_repo: null, ...pending },
    { target_repo: '', ...pending },
    { target_repo: 'local/app', ...pending },
    { target_repo: 'team/gone\nforged line', ...pending },
  ]);
  const line =
    'still pending, as this run does not cover them: requests for all repositories (this run leaves out local/App; forget what is no longer a source), local/app, team/gone forged line';
  expect(await logLines()).toContain(line);
  expect(stderr).toContain(line);
});

describe('a request for all repositories', () => {
  const [served, waits] = [[{ status: 'completed' }], [{ status: 'pending' }]];

  it('is fulfilled by a run with every repository that was read, whatever else was named once', async () => {
    await backUp(['App', 'Other', 'mistyped', 'plain']);
    await request(null);
    await backUp(['Other', 'plain']);
    expect(await requests()).toMatchObject(waits);
    await backUp(['App', 'Other']);
    expect(await requests()).toMatchObject(served);
  });

  it('waits for the first run that knows what there is', async () => {
    await request(null);
    await backUp(['App', 'Other']);
    expect(await requests()).toMatchObject(waits);
    await backUp(['App', 'Other']);
    expect(await requests()).toMatchObject(served);
  });

  it('does not mean a repository that the usual runs no longer name', async () => {
    await backUp(['App', 'Other', 'Odd Näme.git-ish (1)']);
    await backUp(['App', 'Other']);
    await request(null);
    await backUp(['App']);
    expect(await requests()).toMatchObject(waits);
    await backUp(['App', 'Other']);
    expect(await requests()).toMatchObject(served);
  });

  it('is not fulfilled by a run for a few, however often it is repeated', async () => {
    await backUp(['App', 'Other', 'Odd Näme.git-ish (1)']);
    await backUp(['App']);
    await request(null);
    await backUp(['App']);
    await backUp(['App']);
    expect(await requests()).toMatchObject(waits);
  });
});

it('a run matches requested names in any letter case, also of letters other than a to z', async () => {
  await request('local/odd näme.git-ish (1)');
  await request('LOCAL/ODD NÄME.git-ish (1)');
  await backUp(['Odd Näme.git-ish (1)']);
  expect(await requests()).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
});

it('an unchanged repository fulfils its request', async () => {
  await backUp();
  await request('local/app');
  await backUp();
  expect(await requests()).toEqual([
    { target_repo: 'local/app', status: 'completed', run_id: 2, claimed: true },
  ]);
});

it('a run that fails before its first repository leaves requests pending for the next run', async () => {
  await request('local/app');
  const archives = join(folder, 'no-folder');
  await writeFile(archives, '');
  expect((await backUp(['App'], archives)).code).toBe(1);
  expect(await requests()).toEqual([{ target_repo: 'local/app', ...pending }]);
  await backUp(['App']);
  expect(await requests()).toMatchObject([{ status: 'completed', run_id: 2 }]);
});

it('a stopped run fails its claimed requests', async () => {
  await request('local/app');
  const stop = new AbortController();
  await callWorker({
    databaseUrl: database.url,
    archives: join(folder, 'archives'),
    folder,
    args: ['run', '--source', 'App'],
    signal: stop.signal,
    wrap: (db) => ({
      ...db,
      async query<Row>(...[statement, values, options]: Parameters<Database['query']>) {
        const rows = await db.query<Row>(statement, values, options);
        if (statement.name === 'claim_requests') stop.abort(new RunStopped('interrupted'));
        return rows;
      },
    }),
  });
  expect(await requests()).toMatchObject([{ status: 'failed', run_id: 1 }]);
});

it('a run fails requests claimed by an abandoned run, but none of a running one', async () => {
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

it('claiming never claims a request twice, and never waits for locks', async () => {
  for (let count = 0; count < 30; count++) await request(null);
  const other = await connect(database.url);
  await other.query('BEGIN; SELECT * FROM backup_run_requests WHERE id = 7 FOR UPDATE');
  const start = await startRun(database.db, { totalRepos: 0, staleAfterMs: 1 });
  const runId = 'id' in start ? start.id : Number.NaN;
  const ids = Array.from({ length: 30 }, (_, index) => index + 1);
  // Run ids that stand for other workers: only row locks keep claims apart.
  const claims = await Promise.all(
    [0, 1, 2].map((n) => claimRequests(database.db, runId + n, ids)),
  );
  await other.query('ROLLBACK');
  await other.end();
  const claimed = claims.flat().map(({ id }) => id);
  expect(claimed.sort((a, b) => a - b)).toEqual(ids.filter((id) => id !== 7));
});

it('claiming returns already claimed requests when it is repeated', async () => {
  await request('local/app');
  const start = await startRun(database.db, { totalRepos: 0, staleAfterMs: 1 });
  const runId = 'id' in start ? start.id : Number.NaN;
  const first = await claimRequests(database.db, runId, [1]);
  await request(null);
  expect(await claimRequests(database.db, runId, [1, 2])).toEqual([
    ...first,
    {
      ...{ id: 2, target: null, requestedBy: 'mcp', reason: 'because' },
      createdAt: expect.stringMatching(/^20\d\d-/),
    },
  ]);
});
