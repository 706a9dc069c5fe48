import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, type TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
let app: TestRepository;

beforeEach(async () => {
  await empty(database.db);
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'first' });
});

const backUp = (sources = [app], wrap = (db: Database) => db) =>
  callWorker({
    databaseUrl: database.url,
    archives: join(folder, 'archives'),
    args: ['run', ...sources.flatMap(({ path }) => ['--source', path])],
    wrap,
  });

interface Entry {
  state: string;
  last_good_at: string | null;
  last_checked_at: string;
}
const readState = async () => {
  const client = createClient({ db: database.db, clock: createTestClock(Date.now()) });
  return (await client.get('/api/repos/local/app')).body as Entry;
};
const checkedAt = async () => {
  const [row] = await rowsOf<{ checked_at: string | null }>(
    database.db,
    'SELECT checked_at FROM worker_repo_state',
  );
  return row?.checked_at ?? null;
};

it('a repository that failed is good again once a run finds it unchanged', async () => {
  const away = join(folder, 'away');
  await backUp();
  const backedUp = await readState();
  expect(backedUp.state).toBe('good');

  await rename(app.path, away);
  expect((await backUp()).code).toBe(1);
  const failing = await readState();
  expect(failing).toMatchObject({ state: 'lost', last_good_at: backedUp.last_good_at });

  await rename(away, app.path);
  expect((await backUp()).stdout).toContain('1 unchanged');
  const unchanged = await readState();
  expect(unchanged).toMatchObject({ state: 'good', last_good_at: unchanged.last_checked_at });
  expect(unchanged.last_checked_at > failing.last_checked_at).toBe(true);
});

it('each new archive records when its repository was good, and a failure does not', async () => {
  await backUp();
  const first = await checkedAt();
  expect(first).not.toBeNull();
  await app.commit({ 'a.txt': 'second' });
  await backUp();
  const second = await checkedAt();
  expect(String(second) > String(first)).toBe(true);
  await rename(app.path, join(folder, 'away'));
  await backUp();
  expect(await checkedAt()).toBe(second);
});

it('a run stores its counters after each unchanged repository, with two statements for each', async () => {
  const other = await createRepository(join(folder, 'other'));
  await other.commit({ 'b.txt': 'b' });
  await backUp([app, other]);
  const skipped: unknown[] = [];
  const perRepository: (string | undefined)[] = [];
  const watch = (db: Database): Database => ({
    ...db,
    async query(statement, ...rest) {
      const rows = await db.query<never>(statement, ...rest);
      // Progress is written, and a request to stop is read, once a second, however many repositories there are.
      if (statement.name !== 'progress_of_run' && statement.name !== 'read_stop_request') {
        perRepository.push(statement.name);
      }
      if (statement.name === 'record_unchanged') {
        const select = 'SELECT skipped FROM backup_runs ORDER BY id DESC LIMIT 1';
        skipped.push(...(await rowsOf(database.db, select)));
      }
      return rows;
    },
  });
  await backUp([app, other], watch);
  expect(skipped).toEqual([{ skipped: 1 }, { skipped: 2 }]);
  const from = perRepository.indexOf('repo_state');
  expect(perRepository.slice(from, from + 4).sort()).toEqual([
    'record_unchanged',
    'record_unchanged',
    'repo_state',
    'repo_state',
  ]);
});

it('a note is kept when the name of its repository changes letter case', async () => {
  await backUp();
  const before = await checkedAt();
  await database.db.query({
    text: "UPDATE worker_repo_state SET repo_full_name = 'Local/App'",
  });
  let afterwards: string | null = null;
  const watch = (db: Database): Database => ({
    ...db,
    async query(statement, ...rest) {
      const rows = await db.query<never>(statement, ...rest);
      if (statement.name === 'record_archive') afterwards = await checkedAt();
      return rows;
    },
  });
  expect((await backUp([app], watch)).stdout).toContain('1 backed up');
  expect(afterwards).toBe(before);
});

it('repositories of the same name are told apart by where they are read', async () => {
  const other = await createRepository(join(folder, 'other', 'app'));
  await other.commit({ 'a.txt': 'other' });
  const sources = async () => {
    const client = createClient({ db: database.db, clock: createTestClock(Date.now()) });
    const { data } = (await client.get('/api/repos?order=name')).body as {
      data: { full_name: string; source: string }[];
    };
    return data.map(({ full_name, source }) => [full_name, source]);
  };
  await backUp([app, other]);
  const renamed = expect.stringMatching(/^local\/app--[0-9a-f]{8}$/);
  expect(await sources()).toEqual([
    ['local/app', app.path],
    [renamed, other.path],
  ]);
  await backUp([app, await createRepository(join(folder, 'empty'))]);
  expect(await sources()).toContainEqual(['local/empty', join(folder, 'empty')]);
});

it('the path of a source is shown without secrets', async () => {
  const secret = `ghp_${'aB3'.repeat(12)}`;
  const hidden = await createRepository(join(folder, secret, 'hidden'));
  await backUp([hidden]);
  const client = createClient({ db: database.db, clock: createTestClock(Date.now()) });
  const { body } = await client.get('/api/repos/local/hidden');
  expect((body as { source: string }).source).toContain('/hidden');
  expect(JSON.stringify(body)).not.toContain(secret);
});

it.each([
  [true, 0],
  [false, null],
])(
  'a single run records whether a person started it (at a terminal: %s)',
  async (isTerminal, expected) => {
    await callWorker({
      databaseUrl: database.url,
      archives: join(folder, 'archives'),
      args: ['run', '--source', app.path],
      isTerminal,
    });
    expect(await rowsOf(database.db, 'SELECT schedule_ms FROM backup_runs')).toEqual([
      { schedule_ms: expected },
    ]);
  },
);
