import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createGit } from '../../lib/git/git.ts';
import { measureClone } from '../../lib/worker/archive/figures.ts';
import { HOLD_ALL } from '../../lib/worker/archive/retention.ts';
import { updateArchive } from '../../lib/worker/backup/repository.ts';
import { parseSource } from '../../lib/worker/base/source.ts';
import { readCloneRefs } from '../../lib/worker/mirror/refs.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository, git, listRefs, plantBomb, type TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { bundleOf, treeEntry } from '../support/packs.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useSharedFolder();
let bomb: TestRepository;

beforeAll(async () => {
  bomb = await createRepository(join(folder, 'bomb'));
  await plantBomb(bomb);
});

it('a repository of 10^9 files is archived, and reported as not counted', async () => {
  const small = await createRepository(join(folder, 'small'));
  await small.commit({ 'a.txt': 'four', 'b.txt': 'four' });
  const archives = join(folder, 'archives');
  const args = ['run', '--source', bomb.path, '--source', small.path];
  const backUp = () => callWorker({ databaseUrl: database.url, archives, args });

  const { code, stdout, stderr } = await backUp();

  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('2 backed up') });
  const archive = join(archives, 'local__bomb.bundle');
  expect(await listRefs(archive)).toEqual(await listRefs(bomb.path));
  expect(stderr).toContain('local/bomb: archived 1 commit, ');
  expect(stderr).toContain('local/bomb: warn: the files were not counted: ');
  expect(stderr).toContain('analytics omit uncounted figures of local/bomb\n');
  const { figures } = JSON.parse(await readFile(`${archive}.json`, 'utf8'));
  expect(figures).toMatchObject({ total_commits: 1, tracked_files: 0, uncounted: ['files'] });
  const select = `SELECT total_commits, tracked_files, total_blob_size_bytes, avg_blob_size_bytes,
    archive_count FROM analytics_snapshots ORDER BY id DESC LIMIT 1`;
  const counted = { tracked_files: 2, total_blob_size_bytes: 8, avg_blob_size_bytes: 4 };
  expect(await rowsOf(database.db, select)).toEqual([
    { total_commits: 2, ...counted, archive_count: 2 },
  ]);

  const again = await backUp();
  expect(again.stdout).toContain('0 backed up, 2 unchanged');
  expect(again.stderr).toContain('analytics omit uncounted figures of local/bomb\n');
});

it.each([
  ['10^9 files up to a number', {}, { entries: 1_000, timeoutMs: 60_000 }],
  ['10^9 folders without a file for a while', { hasFiles: false }, { entries: 9, timeoutMs: 300 }],
])('a run counts %s, and never reports a part as the whole', async (_, content, limits) => {
  const repository = await createRepository(join(folder, `of ${limits.entries}`));
  const commit = await plantBomb(repository, content);
  const git = createGit({ PATH: process.env.PATH }, new AbortController().signal);
  const gitDir = join(repository.path, '.git');
  const refs = await readCloneRefs(git, gitDir);
  expect(await measureClone(git, gitDir, refs, limits)).toMatchObject({
    head_commit: commit,
    head_commit_message: 'bomb',
    total_commits: 1,
    tracked_files: 0,
    total_blob_size_bytes: 0,
    largest_blob_path: '',
    largest_blob_size_bytes: 0,
    uncounted: ['files'],
  });
});

it('packing deeply nested folders, which takes git long for a few bytes, is stopped', async () => {
  const name = 'd'.repeat(4_000);
  const bytes = bundleOf((pack) => {
    let id = pack.add('blob', Buffer.from('x'));
    for (let level = 0; level <= 600; level++) {
      id = pack.add('tree', treeEntry(level === 0 ? '100644' : '40000', name, id));
    }
    return id;
  });
  await writeFile(join(folder, 'deep.bundle'), bytes);
  await bomb.git('clone', '--quiet', '--mirror', join(folder, 'deep.bundle'), join(folder, 'deep'));
  const archiveFolder = join(folder, 'deep-archives');
  await mkdir(archiveFolder);
  const published: unknown[] = [];
  const backUp = (packTimeoutMs: number) =>
    updateArchive({
      madeAnew: () => undefined,
      git: createGit({ PATH: process.env.PATH }, new AbortController().signal),
      archiveFolder,
      mayClone: true,
      mirrorFolder: join(folder, 'deep-mirrors'),
      source: parseSource('deep', folder),
      signal: new AbortController().signal,
      runId: 1,
      recordedSha256: null,
      recordedVersions: { newest: 0, restorable: 0, newestRestorable: null },
      listRecorded: async () => null,
      isDamaged: false,
      hold: HOLD_ALL,
      checkLease: () => Promise.resolve(),
      now: Date.now,
      checkClock: () => Promise.resolve(null),
      retention: { allDays: 7, daily: 0, weekly: 0, monthly: 0 },
      incrementsFromBytes: 2 ** 26,
      figureLimits: { entries: 10, timeoutMs: 100 },
      credential: async () => null,
      reserveRoom: async () => undefined,
      tell: async (entry) => {
        if (entry.type === 'archive') published.push(entry);
      },
      packTimeoutMs,
    });
  // The first archive is the pack as received.
  expect(await backUp(100)).toMatchObject({ status: 'completed' });
  const before = await readdir(archiveFolder);
  const deep = join(folder, 'deep');
  const commit = await git(
    deep,
    'commit-tree',
    'HEAD^{tree}',
    '-p',
    'HEAD',
    '-m',
    'the same files',
  );
  await git(deep, 'update-ref', 'refs/heads/more', commit);
  published.length = 0;
  await expect(backUp(100)).rejects.toThrow(/git pack-objects did not end in time and was stopped/);
  expect(published).toEqual([]);
  expect(await readdir(archiveFolder)).toEqual(before);
});
