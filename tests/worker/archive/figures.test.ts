import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGit } from '../../../lib/git/git.ts';
import { measureHistory } from '../../../lib/worker/archive/figures.ts';
import { useSharedFolder } from '../../support/folders.ts';
import { createBare, git } from '../../support/git.ts';

const folder = useSharedFolder();

it.each([1, 999, 1_000, 1_001])(
  'measuring counts a history of %i commits and reads its HEAD',
  async (commits) => {
    const gitDir = await makeHistory('linear', { commits });
    expect(await measure(gitDir, 'refs/heads/main')).toMatchObject({
      total_commits: commits,
      head_commit_message: `commit ${commits}`,
      head_commit_at: new Date(commits * 1_000).toISOString(),
    });
  },
);

it('measuring reads a HEAD that is older than a thousand commits of other branches', async () => {
  const gitDir = await makeHistory('behind', { commits: 1_500 });
  await git(gitDir, 'branch', 'old', 'main~1400');
  expect(await measure(gitDir, 'refs/heads/old')).toMatchObject({
    total_commits: 1_500,
    head_commit_message: 'commit 100',
  });
});

it('measuring reads a commit whose subject exceeds the line limit', async () => {
  const gitDir = await makeHistory('long', { commits: 2, subject: 'long '.repeat(2 ** 18) });
  const figures = await measure(gitDir, 'refs/heads/main');
  expect(figures.total_commits).toBe(2);
  expect(figures.head_commit_message).toMatch(/^long long /);
});

async function measure(gitDir: string, head: string) {
  const refs = new Map([['HEAD', await git(gitDir, 'rev-parse', head)]]);
  return measureHistory(createGit(process.env, new AbortController().signal), gitDir, refs);
}

async function makeHistory(
  name: string,
  { commits, subject }: { commits: number; subject?: string },
): Promise<string> {
  const path = join(folder, `${name}-${commits}.git`);
  await createBare(path);
  const input = Array.from({ length: commits }, (_, index) => {
    const text = subject ?? `commit ${index + 1}`;
    return `commit refs/heads/main\ncommitter Ada <ada@example.com> ${index + 1} +0000\ndata ${text.length}\n${text}\n`;
  });
  const { status } = spawnSync('git', [`--git-dir=${path}`, 'fast-import', '--quiet'], {
    input: input.join(''),
  });
  expect(status).toBe(0);
  return path;
}
