import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createGit } from '../../../lib/git/git.ts';
import { readClone } from '../../../lib/worker/backup/clone.ts';
import { useTemporaryFolder } from '../../support/folders.ts';
import { createRepository, git } from '../../support/git.ts';

const runner = createGit({ PATH: process.env.PATH }, new AbortController().signal);
const folder = useTemporaryFolder();
const source = join(folder, 'source');
const clone = join(folder, 'clone.git');
let first: string;
let second: string;

beforeEach(async () => {
  const repository = await createRepository(source);
  first = await repository.commit({ one: '1' });
  second = await repository.commit({ two: '2' });
});

async function readMirror() {
  await git(folder, 'clone', '--quiet', '--mirror', '--no-local', source, clone);
  const { refs, headBranch } = await readClone(runner, clone);
  return { refs: Object.fromEntries(refs), headBranch };
}

it('readClone reads branches, tags and HEAD', async () => {
  await git(source, 'tag', '-m', 'a tag', 'v1', first);
  await git(source, 'branch', 'with-"quotes"-$HOME-é-\u2028', first);
  const tag = (await git(source, 'rev-parse', 'v1')).trim();
  expect(await readMirror()).toEqual({
    refs: {
      HEAD: second,
      'refs/heads/main': second,
      'refs/heads/with-"quotes"-$HOME-é-\u2028': first,
      'refs/tags/v1': tag,
    },
    headBranch: 'refs/heads/main',
  });
});

it('readClone reads a detached HEAD whose commit is on no branch', async () => {
  await git(source, 'checkout', '--quiet', '--detach');
  await git(source, 'branch', '--force', 'main', first);
  expect(await readMirror()).toEqual({
    refs: { HEAD: second, 'refs/heads/main': first },
    headBranch: null,
  });
});

it('readClone finds no HEAD if its branch has no commit', async () => {
  await git(source, 'symbolic-ref', 'HEAD', 'refs/heads/later');
  expect(await readMirror()).toEqual({ refs: { 'refs/heads/main': second }, headBranch: null });
});

it('readClone reads refs that git left in separate files', async () => {
  await git(folder, 'clone', '--quiet', '--mirror', '--no-local', source, clone);
  await git(clone, 'update-ref', 'refs/heads/loose', first);
  const { refs } = await readClone(runner, clone);
  expect(Object.fromEntries(refs)).toMatchObject({
    'refs/heads/loose': first,
    'refs/heads/main': second,
  });
});
