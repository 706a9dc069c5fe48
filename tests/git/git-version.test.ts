import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkGit, parseGitVersion } from '../../lib/git/git-version.ts';
import { useSharedFolder } from '../support/folders.ts';

const folder = useSharedFolder();

/** Checks a git that reports this version. */
async function check(said: string): Promise<string> {
  const git = join(folder, 'git');
  await writeFile(git, `#!/bin/sh\necho '${said}'\n`);
  await chmod(git, 0o755);
  return checkGit({ PATH: folder }, new AbortController().signal);
}

describe('parseGitVersion', () => {
  it.each([
    ['git version 2.39.5', [2, 39, 5]],
    ['git version 2.39.5 (Apple Git-154)', [2, 39, 5]],
    ['git version 2.45.1.windows.1', [2, 45, 1]],
    ['git version 2.50.0-rc1', [2, 50, 0]],
    ['git version 3.0', [3, 0, 0]],
    ['git version 2.48.GIT', [2, 48, 0]],
    ['something else', null],
  ])('reads %j', (said, version) => {
    expect(parseGitVersion(said)).toEqual(version);
  });
});

describe('checkGit', () => {
  it.each(['2.39.4', '2.39.5 (Apple Git-154)', '2.40.0', '2.45.1.windows.1', '3.0'])(
    'accepts %s',
    async (version) => {
      expect(await check(`git version ${version}`)).toMatch(/^[23]\.\d+\.\d+$/);
    },
  );

  it.each(['2.39.3', '2.39.2 (Apple Git-143)', '2.38.9', '2.9.5', '1.99.9'])(
    'rejects %s, with advice',
    async (version) => {
      await expect(check(`git version ${version}`)).rejects.toThrow(
        `found git version ${version}, which is too old: install git 2.39.4 or newer`,
      );
    },
  );

  it('rejects a git that reports no version, with advice', async () => {
    await expect(check('not a git')).rejects.toThrow(
      '`git --version` printed no version: "not a git": install git 2.39.4 or newer',
    );
  });

  it('gives advice if git is missing', async () => {
    const nowhere = { PATH: join(folder, 'nowhere') };
    await expect(checkGit(nowhere, new AbortController().signal)).rejects.toThrow(
      'git is not installed, or not on the PATH: install git 2.39.4 or newer',
    );
  });
});
