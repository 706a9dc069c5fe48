import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findLacks } from '../../../lib/durable-files.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository, git, type TestRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { runScript } from '../../support/script.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
const mount = join(folder, 'mount');
const preload = resolve(import.meta.dirname, '../../support/weak-mount.ts');
/** How many repositories were created: the tests share a database. */
let count = 0;
let app: TestRepository;

/** Runs the worker with everything on the mount. Its git cannot change permissions there either. */
function worker(code: string, ...args: string[]) {
  return runScript('worker', {
    args,
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      NODE_OPTIONS: `--import=${preload}`,
      WEAK_FOLDER: mount,
      WEAK_CODE: code,
      DATABASE_URL: database.url,
      DATA_DIR: join(mount, 'data'),
      BACKUP_ARCHIVE_PATH: join(mount, 'archives'),
      BACKUP_STORES: `file://${join(mount, 'store')}`,
    },
  });
}

beforeEach(async () => {
  await mkdir(join(mount, 'store'), { recursive: true });
  await mkdir(join(folder, 'bin'));
  const fake = `#!/bin/sh
for arg; do case "$arg" in init|clone)
  echo "error: chmod on config.lock failed: Operation not supported" >&2
  exit 128
esac; done
PATH='${process.env.PATH}' exec git "$@"
`;
  await writeFile(join(folder, 'bin/git'), fake);
  await chmod(join(folder, 'bin/git'), 0o755);
  app = await createRepository(join(folder, `app${++count}`));
  await app.commit({ 'a.txt': 'one' });
});

describe.each(['ENOTSUP', 'EINVAL', 'EPERM'])('a mount that answers %s', (code) => {
  it('is backed up to and restored to, and the run says once what it lacks', async () => {
    const run = () => worker(code, 'run', '--source', app.path);
    const first = await run();
    expect(first.code, first.stderr).toBe(0);
    const warnings = first.stderr.split('\n').filter((line) => line.includes('does less than'));
    expect(warnings).toEqual([expect.stringMatching(/fsync.*hard links.*chmod/)]);
    expect(first.stderr + first.stdout).toContain(`proven: local/app${count}, version 1`);
    await app.commit({ 'a.txt': 'two' });
    const second = await run();
    expect(second.code, second.stderr).toBe(0);
    for (const from of [[], ['--from', `file://${join(mount, 'store')}`]]) {
      const to = join(mount, `restored-${from.length}`);
      const restored = await worker(code, 'restore', `local/app${count}`, '--to', to, ...from);
      expect(restored.code, restored.stderr).toBe(0);
      expect(restored.stderr.match(/does less than/g)).toHaveLength(1);
      expect(await readFile(join(to, 'a.txt'), 'utf8')).toBe('two');
      expect(await git(to, 'status', '--short')).toBe('');
      expect(await git(to, 'rev-parse', 'main')).toBe(await app.git('rev-parse', 'main'));
    }
  });
});

it('an error of the disk is not taken for something that it lacks', async () => {
  const { code, stderr } = await worker('EIO', 'run', '--source', app.path);
  expect(code).toBe(1);
  expect(stderr).toContain('EIO');
});

it('a file system that lacks nothing is not described', async () => {
  expect(await findLacks(mount)).toEqual([]);
});
