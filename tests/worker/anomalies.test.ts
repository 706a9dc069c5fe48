import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { beforeEach, expect, it } from 'vitest';
import { createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { useVersionedApp } from '../support/versioned-app.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
beforeEach(() => empty(database.db));

const keepOne = { BACKUP_KEEP: '1 daily' };
const seen = () =>
  rowsOf<Record<string, unknown>>(
    database.db,
    `SELECT repo_full_name AS repository, version, kind, change_count AS count, before, after,
       confirmed_at IS NOT NULL AS confirmed FROM anomalies ORDER BY id`,
  );
const versions = async () => (await world.readNote()).versions.map(({ version }) => version);
const anomalies = (...args: string[]) =>
  callWorker({
    ...{ databaseUrl: database.url, archives: world.archives },
    args: ['anomalies', ...args],
  });
const idOf = (revision: string) => world.app.git('rev-parse', revision);
const commitBeside = async (message: string) =>
  world.app.git('commit-tree', 'main^{tree}', '-p', 'main', '-m', message);
const change = async (text: string) => {
  await world.app.commit({ 'b.txt': text }, text);
  return world.backUp(keepOne);
};

it('a run reports a rewritten default branch, with its commits before and after', async () => {
  await world.backUpFirst();
  const before = await idOf('main');
  await world.app.git('branch', '-D', 'topic');
  await world.forcePush();
  await world.backUp();
  expect(await seen()).toEqual([
    {
      ...{ repository: 'local/app', version: 2, kind: 'branches_rewritten', count: 1 },
      before: { 'refs/heads/main': before },
      after: { 'refs/heads/main': await idOf('main') },
      confirmed: false,
    },
    {
      ...{ repository: 'local/app', version: 2, kind: 'branches_deleted', count: 1 },
      before: { 'refs/heads/topic': before },
      after: {},
      confirmed: false,
    },
    expect.objectContaining({
      ...{ kind: 'shrunk', before: { commits: '2' }, after: { commits: '1' } },
    }),
  ]);
});

it('a run reports no anomaly for new commits, new refs, or a branch deleted after its merge', async () => {
  await world.backUpFirst();
  await world.app.commit({ 'b.txt': 'more' }, 'more');
  await world.app.git('tag', 'v1');
  await world.app.git('branch', '-D', 'topic');
  await world.backUp();
  expect(await versions()).toEqual([1, 2]);
  expect(await seen()).toEqual([]);
});

it.each([
  ['a branch whose commits nothing else has', 'branches_rewritten', 'refs/heads/topic', true],
  ['a branch whose commits nothing else has', 'branches_deleted', 'refs/heads/topic', false],
  ['a tag', 'tags_rewritten', 'refs/tags/v1', true],
  ['a tag', 'tags_deleted', 'refs/tags/v1', false],
])('a run reports an anomaly of %s: %s', async (_what, kind, ref, isKept) => {
  const [first, second] = [await commitBeside('first'), await commitBeside('second')];
  await world.app.git('update-ref', ref, first);
  await world.backUp();
  await world.app.git('update-ref', ...(isKept ? [ref, second] : ['-d', ref]));
  await world.backUp();
  expect(await seen()).toMatchObject([
    { version: 2, kind, before: { [ref]: first }, after: isKept ? { [ref]: second } : {} },
  ]);
  expect((await world.readNote()).versions.at(-1)?.warning).toMatch(/topic|v1/);
});

it('an anomaly names the first 20 of many refs, and counts all', async () => {
  const commit = await commitBeside('aside');
  const refs = Array.from({ length: 30 }, (_, n) => `refs/tags/v${n}`);
  for (const ref of refs) await world.app.git('update-ref', ref, commit);
  await world.backUp();
  for (const ref of refs) await world.app.git('update-ref', '-d', ref);
  await world.backUp();
  const [deleted, ...others] = await seen();
  expect(deleted).toMatchObject({ kind: 'tags_deleted', count: 30 });
  expect(Object.keys(deleted?.before as object)).toHaveLength(20);
  expect(others).toMatchObject([
    { kind: 'refs_gone', before: { refs: '33' }, after: { refs: '3' } },
  ]);
});

it('a run reports that a small file replaced a large one', async () => {
  await world.backUp();
  const bytes = async () =>
    (await world.app.git('ls-tree', '-l', 'HEAD'))
      .split('\n')
      .reduce((sum, line) => sum + Number(/ (\d+)\t/.exec(line)?.[1]), 0);
  const before = await bytes();
  await world.app.commit({ noise: 'small' }, 'smaller');
  const after = await bytes();
  await world.backUp();
  expect(await seen()).toMatchObject([
    {
      ...{ version: 2, kind: 'shrunk' },
      before: { 'bytes of files': `${before}` },
      after: { 'bytes of files': `${after}` },
    },
  ]);
});

it('a run reports a different default branch', async () => {
  await world.backUpFirst();
  await world.app.git('symbolic-ref', 'HEAD', 'refs/heads/topic');
  await world.backUp();
  expect(await seen()).toMatchObject([
    {
      kind: 'default_branch',
      before: { HEAD: 'refs/heads/main' },
      after: { HEAD: 'refs/heads/topic' },
    },
  ]);
});

it('a run reports an emptied repository once, and holds back its last version', async () => {
  await world.backUpFirst();
  await rm(world.app.path, { recursive: true });
  await createRepository(world.app.path);
  for (const _ of [1, 2]) expect((await world.backUp()).code).toBe(1);
  expect(await seen()).toMatchObject([
    { version: 1, kind: 'emptied', before: { refs: '3' }, after: { refs: '0' } },
  ]);
  for (const text of ['again', 'and again']) await change(text);
  expect(await versions()).toEqual([1, 2, 3]);
  await anomalies('confirm', 'local/app');
  await change('and once more');
  expect(await versions()).toEqual([4]);
});

it('older versions are pruned by the next run after an anomaly is confirmed, and not before', async () => {
  await world.backUpFirst(keepOne);
  await world.forcePush();
  await world.backUp(keepOne);
  await change('three');
  expect(await versions()).toEqual([1, 2, 3]);
  expect((await anomalies()).stdout).toMatch(
    /local\/app version 2: branches_rewritten: refs\/heads\/main [0-9a-f]+ → [0-9a-f]+\n(?:.+\n)*\d to confirm: /,
  );
  const { code, stdout } = await anomalies('confirm', 'LOCAL/app');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Confirmed \d anomal(y|ies) of LOCAL\/app: /),
  });
  expect(await rowsOf(database.db, 'SELECT DISTINCT confirmed_by FROM anomalies')).toEqual([
    { confirmed_by: expect.stringContaining(hostname()) },
  ]);
  await change('four');
  expect(await versions()).toEqual([4]);
  expect((await anomalies()).stdout).toBe('Nothing to confirm.\n');
  expect((await anomalies('confirm', 'local/app')).code).toBe(1);
});

it('pruning is held back while a single anomaly of a version is unconfirmed', async () => {
  await world.app.git('update-ref', 'refs/tags/v1', await commitBeside('aside'));
  await world.backUp(keepOne);
  await world.app.git('update-ref', '-d', 'refs/tags/v1');
  await world.forcePush();
  await world.backUp(keepOne);
  await database.db.query({
    text: "UPDATE anomalies SET confirmed_at = now() WHERE kind <> 'tags_deleted'",
  });
  await change('three');
  expect(await versions()).toEqual([1, 2, 3]);
});

it('nothing is pruned while many repositories are missing, and the run says so', async () => {
  await world.backUpFirst(keepOne);
  await database.db.query({
    text: "INSERT INTO anomalies (run_id, kind) VALUES (1, 'missing')",
  });
  const { stderr } = await change('two');
  expect(stderr).toContain('no version is pruned: many repositories were missing at once');
  expect(await versions()).toEqual([1, 2]);
  expect((await anomalies('confirm', '--missing')).code).toBe(0);
  await change('three');
  expect(await versions()).toEqual([3]);
});

it('a run records the warning of a note that the database does not know, so that it can be confirmed', async () => {
  await world.backUpFirst(keepOne);
  await world.forcePush();
  await world.backUp(keepOne);
  await database.db.query({ text: 'DELETE FROM anomalies' });
  await change('three');
  expect(await versions()).toEqual([1, 2, 3]);
  expect(await seen()).toMatchObject([
    {
      ...{ version: 2, kind: 'noted', before: {} },
      after: { warning: expect.stringContaining('was rewritten') },
    },
  ]);
  await anomalies('confirm', 'local/app');
  await change('four');
  expect(await versions()).toEqual([4]);
});

it('pruning is held back while the database is unreachable, and anomalies are delivered later', async () => {
  await world.backUpFirst();
  const away = () =>
    callWorker({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing',
      archives: world.archives,
      args: ['run', '--source', world.app.path],
      env: keepOne,
    });
  await world.app.commit({ 'b.txt': 'two' }, 'two');
  expect((await away()).stderr).toContain(
    'no version is pruned: the database, which knows what was confirmed, is unreachable',
  );
  await world.forcePush();
  await away();
  expect(await versions()).toEqual([1, 2, 3]);
  expect(await seen()).toEqual([]);
  await change('four');
  expect(await seen()).toMatchObject([{ version: 3, kind: 'branches_rewritten' }]);
  expect(await versions()).toEqual([1, 2, 3, 4]);
});

it.each([[['confirm']], [['confirm', 'local/app', '--missing']]])(
  'the worker rejects anomalies %j',
  async (args) => {
    await expect(anomalies(...args)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  },
);
