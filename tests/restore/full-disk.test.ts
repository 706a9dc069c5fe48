import { execFileSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { createGit, GitError } from '../../lib/git/git.ts';
import { checkOut } from '../../lib/restore/check-out.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

it('restoring fails if a file was cut short by a full disk, among names that the file system rejects', async () => {
  const work = join(folder, 'work');
  const gitDir = join(work, '.git');
  await mkdir(work);
  const git = (args: string[], input = '') =>
    execFileSync('git', ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], {
      input,
      encoding: 'utf8',
    }).trim();
  git(['init', '--quiet']);
  const large = git(['hash-object', '-w', '--stdin'], 'x'.repeat(1_000_000));
  const small = git(['hash-object', '-w', '--stdin'], 'small');
  // Enough of them that the error message ends before the file that was cut short.
  const long = Array.from({ length: 20 }, (_, index) => `a${index}${'a'.repeat(260)}`);
  const lines = long.map((name) => `100644 blob ${small}\t${name}\n`);
  const tree = git(['mktree'], [...lines, `100644 blob ${large}\tlarge.txt\n`].join(''));
  const commit = git(['commit-tree', '-m', 'large', tree]);

  // A file size limit stands in for a full disk.
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const limited = join(folder, 'git');
  await writeFile(limited, `#!/bin/sh\ntrap '' XFSZ\nulimit -f 200\nexec ${real} "$@"\n`);
  await chmod(limited, 0o755);
  const PATH = [folder, process.env.PATH].join(delimiter);
  const runner = createGit({ ...process.env, PATH }, new AbortController().signal);

  await expect(checkOut(runner, { folder: work, gitDir }, commit)).rejects.toThrow(GitError);
});
