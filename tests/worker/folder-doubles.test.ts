import { mkdir, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, type TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, sql } from '../support/records.ts';
import { callWorker } from '../support/worker.ts';

// A folder with links and worktrees besides repositories.

const database = useDatabase();
const folder = useTemporaryFolder();
const source = join(folder, 'src');
let main: TestRepository;

beforeEach(async () => {
  await empty(database.db);
  main = await createRepository(join(source, 'main'));
  await main.commit({ 'a.txt': 'one' });
});

const run = () =>
  callWorker({
    databaseUrl: database.url,
    archives: join(folder, 'archives'),
    args: ['run', '--source', source],
  });
const tracked = async () =>
  (
    await sql<{ name: string }>(
      database.db,
      'SELECT DISTINCT repo_full_name AS name FROM backup_results ORDER BY 1',
    )
  ).map(({ name }) => name);

it('a link to a repository beside it, and its worktree on a branch, are not backed up again', async () => {
  await main.git('worktree', 'add', '-b', 'topic', join(source, 'a-worktree'));
  await symlink('main', join(source, 'a-link'));
  const { code, stderr } = await run();
  expect(code).toBe(0);
  expect(await tracked()).toEqual(['local/main']);
  for (const [name, kind] of [
    ['a-worktree', 'a worktree of'],
    ['a-link', 'a link to'],
  ] as const) {
    expect(stderr).toContain(
      `${join(source, name)} is ${kind} ${main.path}, and is not backed up again`,
    );
  }
});

it('what no repository beside it has is backed up by itself', async () => {
  // Its commits may have no other name.
  await main.git('worktree', 'add', '--detach', join(source, 'detached'));
  const elsewhere = await createRepository(join(folder, 'elsewhere'));
  await elsewhere.commit({ 'a.txt': 'two' });
  await elsewhere.git('worktree', 'add', '-b', 'topic', join(source, 'of-elsewhere'));
  // The first of two links to the same place stands for it.
  await symlink(elsewhere.path, join(source, 'x-link'));
  await symlink(elsewhere.path, join(source, 'y-link'));
  expect((await run()).code).toBe(0);
  expect(await tracked()).toEqual(['local/detached', 'local/main', 'local/x-link']);
});

it('one that was backed up before a link took its place is no loss', async () => {
  const moved = await createRepository(join(source, 'old-name'));
  await moved.commit({ 'a.txt': 'two' });
  expect((await run()).code).toBe(0);
  await rename(moved.path, join(source, 'new-name'));
  await symlink('new-name', moved.path);
  await mkdir(join(source, 'empty'));
  const { code, stderr } = await run();
  expect(code).toBe(0);
  expect(stderr).not.toContain('gone');
  expect(await tracked()).toEqual(['local/main', 'local/new-name', 'local/old-name']);
});
