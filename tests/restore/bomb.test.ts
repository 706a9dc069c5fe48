import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type Git, GitError } from '../../lib/git/git.ts';
import { MAX_ENTRIES, requireRoom, WorkTreeTooLarge } from '../../lib/restore/measure-work-tree.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository, plantBomb, plantHugeFiles } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { startScript } from '../support/script.ts';
import { callWorker } from '../support/worker.ts';

const database = useDatabase();
const folder = useSharedFolder();
const archives = join(folder, 'archives');

const call = (...args: string[]) => callWorker({ databaseUrl: database.url, archives, args });

beforeAll(async () => {
  const plants = { bomb: plantBomb, huge: plantHugeFiles, small: async () => undefined };
  const sources: string[] = [];
  for (const [name, plant] of Object.entries(plants)) {
    const repository = await createRepository(join(folder, name));
    await repository.commit({ 'a.txt': 'a' });
    await plant(repository);
    sources.push('--source', repository.path);
  }
  expect((await call('run', ...sources)).code).toBe(0);
});

/** On a busy machine, the minute for counting may be over first. */
const tooMany =
  /it(?: has more than 1000000 files and folders|s files could not be counted within a minute): restore it with --bare, or with --no-limit/;

it.each([
  ['local/bomb', tooMany],
  ['local/huge', /the disk has too little space for its 160000 files of 9\.8 TiB: make room/],
])('the files of %s are counted before any is written', async (name, reason) => {
  const to = join(folder, 'there');
  await expect(call('restore', name, '--to', to)).rejects.toThrow(reason);
  expect(existsSync(to)).toBe(false);
  expect((await readdir(folder)).filter((one) => one.startsWith('.'))).toEqual([]);
});

it('a repository with too many files is restored without them', async () => {
  const { code } = await call('restore', 'local/bomb', '--bare', '--to', join(folder, 'bare'));
  expect(code).toBe(0);
});

it('a repository with too many files does not hold up the others', async () => {
  const { code, stdout, stderr } = await call('restore', '--all', '--to', join(folder, 'all'));
  expect(code).toBe(1);
  expect(stdout).toContain('Restored 1 of 3 repositories');
  expect(stdout).toContain('Not restored: local/bomb, local/huge');
  expect(stderr).toContain('local/bomb was not restored: it');
  expect(stderr).toMatch(tooMany);
});

it('without a limit, the other repositories come first', async () => {
  const { child, waitFor, finished } = startScript('worker', {
    args: ['restore', '--all', '--no-limit', '--to', join(folder, 'unlimited')],
    cwd: folder,
    env: { BACKUP_ARCHIVE_PATH: archives },
  });
  await waitFor(/local\/small/);
  child.kill('SIGINT');
  await finished;
  expect(await readdir(join(folder, 'unlimited/local'))).toContain('small');
});

it('files are counted no further than the limit', async () => {
  let read = 0;
  const endless: Pick<Git, 'stream'> = {
    async *stream() {
      for (;;) {
        read++;
        yield '100644 blob 1 1\ta';
      }
    },
  };
  const counted = requireRoom(endless, { folder, gitDir: folder }, 'HEAD');
  await expect(counted).rejects.toThrow('it has more than 1000000 files and folders: restore');
  expect(read).toBe(MAX_ENTRIES + 1);
});

it('files that cannot be counted in time can be restored without a limit', async () => {
  const slow: Pick<Git, 'stream'> = {
    // biome-ignore lint/correctness/useYield: it ends before the first file.
    async *stream() {
      throw new GitError('git ls-tree did not end in time', 'timeout');
    },
  };
  const counted = requireRoom(slow, { folder, gitDir: folder }, 'HEAD');
  await expect(counted).rejects.toThrow(WorkTreeTooLarge);
  await expect(counted).rejects.toThrow('--no-limit');
});
