import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../support/folders.ts';
import { createRepository, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const folder = useSharedFolder();
const columns = `head_commit, head_commit_message, head_commit_at::text, total_commits, branch_count,
  tag_count, tracked_files, total_blob_size_bytes, avg_blob_size_bytes, largest_blob_path,
  largest_blob_size_bytes, archive_count, largest_archive_path`;

const snapshotOf = async (archives: string, ...sources: string[]) => {
  const args = ['run', ...sources.flatMap((source) => ['--source', source])];
  await callWorker({ databaseUrl: database.url, archives, folder, args });
  const select = `SELECT ${columns} FROM analytics_snapshots ORDER BY id DESC LIMIT 1`;
  return (await rowsOf(database.db, select))[0];
};

it('a snapshot sums the sources, names the newest commit and counts the whole archive folder', async () => {
  const old = await createRepository(join(folder, 'old'));
  await old.commit({ 'big file.bin': 'x'.repeat(1_000) }, 'old', '2020-01-01T00:00:00Z');
  const young = await createRepository(join(folder, 'young'));
  await young.commit({ 'a.txt': '1', 'b.txt': '22' }, 'first', '2025-01-01T00:00:00Z');
  await young.git('checkout', '-q', '-b', 'topic');
  // HEAD moves to another branch: this commit still counts, but its tree does not.
  await young.commit({ 'huge.bin': 'y'.repeat(9_000) }, 'topic', '2025-03-01T00:00:00Z');
  await young.git('tag', 'v1');
  await young.git('checkout', '-q', 'main');
  const head = await young.commit({ 'a.txt': '333' }, 'young', '2025-02-01T00:00:00Z');
  await createRepository(join(folder, 'empty'));
  const archives = join(folder, 'archives');
  await mkdir(archives);
  await writeFile(join(archives, 'legacy.tar.gz'), Buffer.alloc(100_000));
  await writeFile(join(archives, 'notes.txt'), Buffer.alloc(200_000));

  expect(await snapshotOf(archives, 'old', 'young', 'empty', 'gone')).toEqual({
    head_commit: head,
    head_commit_message: 'young',
    head_commit_at: expect.stringContaining('2025-02-01'),
    total_commits: 4,
    branch_count: 3,
    tag_count: 1,
    tracked_files: 3,
    total_blob_size_bytes: 1_005,
    avg_blob_size_bytes: 335,
    largest_blob_path: 'local/old:big file.bin',
    largest_blob_size_bytes: 1_000,
    archive_count: 3,
    largest_archive_path: 'legacy.tar.gz',
  });
});

it('a snapshot has only zeros if no source has an archive', async () => {
  expect(await snapshotOf(join(folder, 'none'), 'gone')).toEqual({
    head_commit: '',
    head_commit_message: '',
    head_commit_at: null,
    total_commits: 0,
    branch_count: 0,
    tag_count: 0,
    tracked_files: 0,
    total_blob_size_bytes: 0,
    avg_blob_size_bytes: 0,
    largest_blob_path: '',
    largest_blob_size_bytes: 0,
    archive_count: 0,
    largest_archive_path: '',
  });
});

it('a snapshot handles submodules, odd dates and a HEAD without commits', async () => {
  const odd = await createRepository(join(folder, 'odd'));
  const commit = await odd.commit({ 'a.txt': 'a' });
  await odd.git('update-index', '--add', '--cacheinfo', `160000,${commit},module`);
  const tree = await odd.git('write-tree');
  const far = await git(
    odd.path,
    ...[
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@b.c',
      'hash-object',
      '-t',
      'commit',
      '-w',
      '--literally',
    ],
    await writeCommit(tree),
  );
  await odd.git('update-ref', 'refs/heads/main', far);
  expect(await snapshotOf(join(folder, 'odd-archives'), 'odd')).toMatchObject({
    head_commit: far,
    head_commit_message: 'far away',
    head_commit_at: null,
    tracked_files: 1,
  });

  await odd.git('branch', 'kept');
  await odd.git('symbolic-ref', 'HEAD', 'refs/heads/unborn');
  expect(await snapshotOf(join(folder, 'odd-archives'), 'odd')).toMatchObject({
    head_commit: '',
    total_commits: 1,
    branch_count: 2,
    tracked_files: 0,
  });
});

/** Writes a commit of the year 33658 to a file that git can read. */
async function writeCommit(tree: string): Promise<string> {
  const person = 'Ada <ada@example.org> 1000000000000 +0000';
  const path = join(folder, 'commit');
  await writeFile(path, `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nfar away\n`);
  return path;
}
