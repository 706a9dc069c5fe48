import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createBigRepository } from '../../support/big-repository.ts';
import { createPostgres } from '../../support/databases.ts';
import { createBare, createRepository, git, listRefs } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { lastResults, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);

const results = () => lastResults(database.db);
const runTo = (destination: string, args = ['run']) =>
  bench.run({
    databaseUrl: database.url,
    args,
    env: { BACKUP_REPO_PATH: destination, BACKUP_REPO_LAYOUT: 'files' },
  });

describe('a local destination in the layout `files`', () => {
  let target: string;
  const at = (...args: string[]) => git(target, ...args);
  beforeEach(async () => {
    target = join(bench.folder, 'backups.git');
    await createBare(target, 'trunk');
  });

  it('gets each archive at the root of its default branch, one commit each', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    await bench.add({ fullName: 'team/b' });
    await bench.logIn();
    const { code, stderr } = await runTo(target);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe('team__a.bundle\nteam__b.bundle');
    const subjects = (await at('log', '--format=%s', 'trunk')).split('\n');
    expect(subjects.sort()).toEqual(['Back up team/a', 'Back up team/b']);
    await at('cat-file', 'blob', 'trunk:team__a.bundle');
    expect(await at('rev-parse', 'trunk:team__a.bundle')).toBe(
      await git(bench.folder, 'hash-object', '--no-filters', 'archives/team__a.bundle'),
    );
    expect(await at('fsck', '--full', '--strict')).toBe('');
    // Nothing is left of the clone.
    expect((await readdir(bench.archives)).filter((name) => name.startsWith('.'))).toEqual([]);

    await runTo(target);
    expect(await results()).toEqual([]);
    expect(await at('rev-list', '--count', 'trunk')).toBe('2');
  });

  it('gets the increments of an archive after the files that they continue', async () => {
    const work = await bench.add({ fullName: 'team/a' });
    await work.commit({ noise: randomBytes(20_000).toString('hex') });
    await work.git('push', '--quiet', 'origin', 'main');
    await bench.logIn();
    const env = {
      ...{ BACKUP_REPO_PATH: target, BACKUP_REPO_LAYOUT: 'files' },
      BACKUP_INCREMENTS_FROM_MIB: '0',
    };
    const run = () => bench.run({ databaseUrl: database.url, args: ['run'], env });
    expect((await run()).code).toBe(0);
    await work.commit({ 'more.txt': 'more' });
    await work.git('push', '--quiet', 'origin', 'main');
    expect((await run()).code).toBe(0);
    const files = 'team__a.1.bundle\nteam__a.bundle';
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe(files);
    await git(bench.folder, 'clone', '--quiet', '--branch', 'trunk', target, 'off-site');
    const offSite = join(bench.folder, 'off-site');
    await git(offSite, 'clone', '--quiet', '--mirror', 'team__a.bundle', 'back.git');
    const back = join(offSite, 'back.git');
    await git(back, 'fetch', '--quiet', '--prune', '../team__a.1.bundle', '+refs/*:refs/*');
    expect(await listRefs(back)).toEqual(await listRefs(join(bench.folder, 'host/team/a.git')));
    expect((await run()).stdout).toContain('1 unchanged');
    const [snapshot] = await rowsOf(
      database.db,
      'SELECT archive_count FROM analytics_snapshots ORDER BY id DESC LIMIT 1',
    );
    expect(snapshot).toEqual({ archive_count: 1 });
  });

  it('keeps its other files, including those in folders', async () => {
    const other = await createRepository(join(bench.folder, 'other'));
    await other.commit({ 'README.md': 'mine', 'docs/x': 'x', 'team__a.bundle': 'old' });
    await other.git('push', '--quiet', target, 'HEAD:trunk');
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    expect((await runTo(target)).code).toBe(0);
    expect(await at('ls-tree', '-r', '--name-only', 'trunk')).toBe(
      'README.md\ndocs/x\nteam__a.bundle',
    );
    expect(await at('show', 'trunk:README.md')).toBe('mine');
    expect(await at('rev-list', '--count', 'trunk')).toBe('2');
  });

  it('gets archives that an earlier run could not push, even if nothing changed', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    const { code } = await runTo(join(bench.folder, 'missing.git'));
    expect(code).toBe(1);
    expect(await results()).toMatchObject([
      { status: 'failed', error_message: expect.stringMatching(/^not pushed: .*does not exist/) },
    ]);
    expect(await readdir(bench.archives)).toContain('team__a.bundle');
    const state = 'SELECT archive_key FROM worker_repo_state';
    expect(await rowsOf(database.db, state)).toEqual([{ archive_key: 'team__a.bundle' }]);

    expect((await runTo(target)).code).toBe(0);
    expect(await results()).toMatchObject([{ repo_full_name: 'team/a', status: 'completed' }]);
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe('team__a.bundle');
  });

  it('is described by the analytics', async () => {
    const other = await createRepository(join(bench.folder, 'other'));
    await other.commit({ 'README.md': 'x'.repeat(10_000) });
    await other.git('tag', 'v1');
    await other.git('push', '--quiet', target, 'HEAD:trunk', 'v1');
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    await runTo(target);
    const size = Number(await at('cat-file', '-s', 'trunk:team__a.bundle'));
    const snapshot = 'SELECT * FROM analytics_snapshots ORDER BY id DESC LIMIT 1';
    expect(await rowsOf(database.db, snapshot)).toMatchObject([
      {
        head_commit: await at('rev-parse', 'trunk'),
        head_commit_message: 'Back up team/a',
        total_commits: 2,
        branch_count: 1,
        tag_count: 1,
        tracked_files: 2,
        total_blob_size_bytes: 10_000 + size,
        largest_blob_path: 'README.md',
        largest_blob_size_bytes: 10_000,
        archive_count: 1,
        total_archive_size_bytes: size,
        largest_archive_path: 'team__a.bundle',
      },
    ]);
  });

  it('accepts sources from the command line, which count as private', async () => {
    const own = await createRepository(join(bench.folder, 'own'));
    await own.commit({ a: 'a' });
    expect((await runTo(target, ['run', '--source', own.path])).code).toBe(0);
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe('local__own.bundle');
  });

  it('does not get archives above 100 MiB, which are kept locally', async () => {
    const big = await createBigRepository(join(bench.folder, 'big'));
    expect((await runTo(target, ['run', '--source', big.path])).code).toBe(1);
    expect(await results()).toEqual([
      {
        repo_full_name: 'local/big',
        status: 'too_large',
        error_message:
          'the archive of 101.0 MiB exceeds the limit of 100.0 MiB for a file: kept here, not pushed',
      },
    ]);
    const counts = 'SELECT successful, failed FROM backup_runs ORDER BY id DESC LIMIT 1';
    expect(await rowsOf(database.db, counts)).toEqual([{ successful: 0, failed: 1 }]);
    expect(await readdir(bench.archives)).toContain('local__big.bundle');
    expect(await listRefs(target)).toEqual([]);
    // Without a git destination it is an archive like any other.
    await rm(join(bench.archives, 'local__big.bundle'));
    const args = ['run', '--source', big.path];
    expect((await bench.run({ databaseUrl: database.url, args })).code).toBe(0);
    expect(await results()).toMatchObject([{ status: 'completed' }]);
  });

  it('loses nothing when two workers push concurrently', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await bench.add({ fullName: `team/${name}` });
    const workers = await Promise.all(
      [names.slice(0, 3), names.slice(3)].map(async (some, index) => {
        const own = await createPostgres();
        const sources = some.flatMap((name) => ['--source', join(bench.folder, 'work/team', name)]);
        const ended = await bench.run({
          databaseUrl: own.url,
          archives: join(bench.folder, `archives-${index}`),
          args: ['run', ...sources],
          env: { BACKUP_REPO_PATH: target, BACKUP_REPO_LAYOUT: 'files' },
        });
        await own.close();
        return ended;
      }),
    );
    expect(workers.map(({ code }) => code)).toEqual([0, 0]);
    expect(await at('ls-tree', '--name-only', 'trunk')).toBe(
      names.map((name) => `local__${name}.bundle`).join('\n'),
    );
    expect(await at('rev-list', '--count', 'trunk')).toBe('6');
  });
});
