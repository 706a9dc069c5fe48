import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ArchiveFolder, createArchiveFolder } from '../support/archives.ts';
import { createChain } from '../support/chains.ts';
import { codeBlocks, readDocument } from '../support/documents.ts';
import { git } from '../support/git.ts';

// The commands of docs/archives.md restore the versions of a chain with git alone.

let archives: ArchiveFolder;

/** Ref names that git allows, and that mean something to a shell, to sed or to JSON. */
const oddNames = [
  ...['a"b', '"', '"quoted"', '","', "it's", '$HOME', '$(id)', '`id`', '&', 'a&b;c|d>e<f'],
  ...['-dash', '#', '!', '%s', '%(refname)', '{}', '(a)', '1,2', '=', '+', '@a', 'a/b"/c'],
  ...['größe', '仓库', '\u{1f980}', 'e\u0301', '\u200f', '\u2028', '\u00a0'],
];

beforeEach(async () => {
  archives = await createArchiveFolder();
});
afterEach(() => archives.remove());

it('the documented commands restore the newest version, then an older one', async () => {
  const folder = archives.outside;
  await mkdir(join(folder, '.data/archives'), { recursive: true });
  const app = await archives.repository('app');
  const chain = createChain(join(folder, '.data/archives'), 'ada__app.bundle', app);
  await app.commit({ 'a.txt': 'one' });
  await app.git('tag', '-a', '-m', 'first', 'v1');
  await app.git('branch', 'deleted');
  for (const name of oddNames) await app.git('update-ref', `refs/heads/${name}`, 'HEAD');
  const first = await chain.version();
  await app.git('branch', '--delete', '--force', 'deleted');
  for (const name of oddNames) await app.git('update-ref', '-d', `refs/heads/${name}`);
  await app.git('checkout', '--quiet', '--orphan', 'other');
  await app.commit({ 'a.txt': 'two' });
  await app.git('branch', '--force', 'main', 'other');
  await app.git('checkout', '--quiet', 'main');
  await chain.version();
  // Only a ref is new: an increment without objects.
  await app.git('tag', 'v2');
  const newest = await chain.version();

  const [clone = '', older = ''] = codeBlocks(readDocument('docs/archives.md'), 'text').filter(
    (block) => block.includes('app.git'),
  );
  await runInShell(clone);
  expect(await refs()).toEqual(newest);
  await runInShell(older);
  expect(await refs()).toEqual(first);

  async function runInShell(commands: string) {
    const options = { cwd: folder, all: true, reject: false };
    const { exitCode, all } = await execa(
      'bash',
      ['-e', '-o', 'pipefail', '-c', commands],
      options,
    );
    expect(exitCode, all).toBe(0);
  }

  async function refs() {
    const lines = (await git(join(folder, 'app.git'), 'show-ref', '--head')).split('\n');
    return Object.fromEntries(lines.map((line) => line.split(' ').reverse()));
  }
});
