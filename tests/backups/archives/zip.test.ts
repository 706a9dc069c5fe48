import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createPlainArchives } from '../../../lib/archives/plain-archives.ts';
import { createServedArchives } from '../../../lib/backups/archives/served-archives.ts';
import { at, SECRET, useArchiveRoutes } from '../../support/archive-routes.ts';
import { anyCall, createArchiveFolder } from '../../support/archives.ts';
import { createChain } from '../../support/chains.ts';
import { createTestClock } from '../../support/clock.ts';
import { feedGit, plantBomb, plantHugeFiles } from '../../support/git.ts';

// Folders of an archive as a zip. Python's zipfile reads it, independently of what wrote it.

const execute = promisify(execFile);
const routes = useArchiveRoutes();

const SHOW = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    assert file.testzip() is None
    print(json.dumps([[i.filename, i.external_attr >> 16, file.read(i).decode('utf-8', 'replace')] for i in file.infolist()]))
`;

let downloads = 0;

/** Downloads a zip, and returns its files with their modes and contents. */
async function unzip(query = '', repository?: string) {
  const { status, bytes, headers } = await routes.client.get(at(`/zip${query}`, repository));
  expect(status).toBe(200);
  const file = join(routes.folder.outside, `${downloads++}.zip`);
  await writeFile(file, bytes);
  const { stdout } = await execute('python3', ['-c', SHOW, file], { maxBuffer: 2 ** 26 });
  const files = JSON.parse(stdout) as [name: string, mode: number, text: string][];
  return { file, headers, files, names: files.map(([name]) => name) };
}

/** Makes an archive of one commit with these entries of `git mktree`. */
async function plant(name: string, entries: readonly [mode: string, text: string, path: string][]) {
  const repository = await routes.folder.repository(name);
  const { path } = repository;
  const lines: string[] = [];
  for (const [mode, text, entry] of entries) {
    const id = await feedGit(path, ['hash-object', '-w', '--stdin'], text);
    lines.push(`${mode} blob ${id}\t${entry}\0`);
  }
  // A tree as bytes, since mktree refuses some names.
  const tree = await feedGit(path, ['mktree', '-z', '--missing'], lines.join(''));
  await repository.git(
    'update-ref',
    'refs/heads/main',
    await repository.git('commit-tree', '-m', 'x', tree),
  );
  await createChain(routes.folder.root, `owner__${name}.bundle`, repository).version();
}

/** A tree object with names that git itself would refuse. */
async function plantTree(
  name: string,
  entries: readonly [mode: string, text: string, path: string][],
) {
  const repository = await routes.folder.repository(name);
  const { path } = repository;
  const parts: Buffer[] = [];
  for (const [mode, text, entry] of entries) {
    const id = await feedGit(path, ['hash-object', '-w', '--stdin'], text);
    parts.push(Buffer.from(`${mode} ${entry}\0`), Buffer.from(id, 'hex'));
  }
  const file = join(routes.folder.outside, `${name}.tree`);
  await writeFile(file, Buffer.concat(parts));
  const write = ['hash-object', '-t', 'tree', '-w', '--literally', file];
  const tree = await repository.git(...write);
  await repository.git(
    'update-ref',
    'refs/heads/main',
    await repository.git('commit-tree', '-m', 'x', tree),
  );
  await createChain(routes.folder.root, `owner__${name}.bundle`, repository).version();
}

describe('GET …/archive/zip', () => {
  it('sends all files, with their paths, modes and bytes', async () => {
    const app = await routes.folder.repository('modes');
    const chain = createChain(routes.folder.root, 'owner__modes.bundle', app);
    await app.commit({ 'run.sh': '#!/bin/sh\n', 'src/näme.txt': SECRET, 'src/empty': '' });
    await app.git('update-index', '--chmod=+x', 'run.sh');
    await app.git('commit', '--quiet', '-m', 'mode');
    await chain.version();
    const { files, headers } = await unzip('', 'owner/modes');
    expect(files).toEqual([
      ['run.sh', 0o100755, '#!/bin/sh\n'],
      ['src/empty', 0o100644, ''],
      ['src/näme.txt', 0o100644, SECRET],
    ]);
    expect(headers.get('content-type')).toBe('application/zip');
    expect(headers.get('content-disposition')).toContain('filename="modes.zip"');
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  it('sends a folder of an older version', async () => {
    const app = await routes.folder.repository('older');
    const chain = createChain(routes.folder.root, 'owner__older.bundle', app);
    await app.commit({ 'src/a.txt': 'old', 'src/deep/b.txt': 'b', 'c.txt': 'c' });
    await chain.version();
    await app.commit({ 'src/a.txt': 'new' });
    await chain.version();
    for (const path of ['src', 'src/']) {
      const { files, headers } = await unzip(`?version=1&path=${path}`, 'owner/older');
      expect(files.map(([name, , text]) => [name, text])).toEqual([
        ['src/a.txt', 'old'],
        ['src/deep/b.txt', 'b'],
      ]);
      expect(headers.get('content-disposition')).toContain('older-version-1-src.zip');
    }
  });

  it('does not leave out what attributes of the repository exclude from exports', async () => {
    const app = await routes.folder.repository('attributes');
    await app.commit({
      '.gitattributes': '* export-ignore\n*.txt export-subst eol=crlf\n',
      'a.txt': '$Format:%H$\n',
    });
    await createChain(routes.folder.root, 'owner__attributes.bundle', app).version();
    const { files } = await unzip('', 'owner/attributes');
    expect(files.find(([name]) => name === 'a.txt')?.[2]).toBe('$Format:%H$\n');
  });

  it('sends nothing that could harm whoever unpacks it, and names what it changed', async () => {
    await plantTree('hostile', [
      ['100644', 'up', '..'],
      ['100644', 'config', '.GIT'],
      ['100644', 'short', 'git~1 .'],
      ['100644', 'drive', 'C:evil'],
      ['100644', 'slashes', '..\\..\\evil'],
      ['100644', 'bell', 'a\u0007b\u001b[31m'],
      ['100644', 'right to left', 'gnp\u202e.exe'],
      ['100644', 'dots', '...'],
      ['120000', '/etc/passwd', 'link'],
      ['100644', 'twice', 'same'],
      ['100644', 'again', 'same'],
    ]);
    const { file, files, names } = await unzip('', 'owner/hostile');
    for (const name of names) {
      expect(name).not.toMatch(/[\p{Cc}\p{Cf}\\:]/u);
      expect(name).toMatch(/^[^/]/);
      for (const part of name.split('/')) expect(part).not.toMatch(/^(?:[. ]*|\.git|git~1)[. ]*$/i);
    }
    expect(new Set(names).size).toBe(names.length);
    // Nothing is lost.
    const texts = files.map(([, , text]) => text);
    for (const text of [
      'up',
      'config',
      'short',
      'drive',
      'slashes',
      'bell',
      'dots',
      'twice',
      'again',
    ]) {
      expect(texts).toContain(text);
    }
    // A link is a file with its target, so that nothing can be written through it.
    const link = files.find(([name]) => name === 'link');
    expect(link).toEqual(['link', 0o100644, '/etc/passwd']);
    const remarks = files.find(([name]) => name === 'READ-ME-FIRST.txt')?.[2] ?? '';
    expect(remarks).toContain('".."');
    expect(remarks).toContain('symbolic links');
    const target = join(routes.folder.outside, 'unpacked');
    await mkdir(target);
    await execute('python3', ['-m', 'zipfile', '-e', file, target]);
    expect((await readdir(target)).sort()).toEqual([...names].sort());
    expect((await stat(join(target, 'link'))).isFile()).toBe(true);
    expect(await readFile(join(target, 'link'), 'utf8')).toBe('/etc/passwd');
  });

  it('names submodules, whose files are not there', async () => {
    await plant('submodule', [['100644', 'a', 'a.txt']]);
    const repository = await routes.folder.repository('submodule');
    const commit = await repository.git('rev-parse', 'main');
    const tree = await feedGit(
      repository.path,
      ['mktree', '--missing'],
      `160000 commit ${commit}\tlib\n`,
    );
    await repository.git(
      'update-ref',
      'refs/heads/main',
      await repository.git('commit-tree', '-m', 'x', tree),
    );
    await createChain(routes.folder.root, 'owner__submodule.bundle', repository).version();
    const { files } = await unzip('', 'owner/submodule');
    expect(files).toMatchObject([
      ['READ-ME-FIRST.txt', 0o100644, expect.stringContaining('"lib"')],
    ]);
  });

  it.each([
    ['a billion files', plantBomb],
    ['ten terabytes', plantHugeFiles],
  ])('refuses %s before it sends anything', async (name, fill) => {
    const key = name.replaceAll(' ', '-');
    const repository = await routes.folder.repository(key);
    await fill(repository);
    await createChain(routes.folder.root, `owner__${key}.bundle`, repository).version();
    const { status, body } = await routes.client.get(at('/zip', `owner/${key}`));
    expect([status, body]).toMatchObject([
      413,
      { error: expect.stringContaining('restore the version to a folder') },
    ]);
  });

  it.each([
    ['?path=none', 404],
    ['?path=README.md', 400],
    ['?path=../x', 400],
    ['?version=9', 404],
    ['?ref=none', 404],
  ])('answers %s with %i, as JSON', async (query, expected) => {
    const { status, body } = await routes.client.get(at(`/zip${query}`));
    expect([status, body]).toMatchObject([expected, { error: expect.any(String) }]);
  });

  it('answers HEAD without a zip, and leaves nothing open', async () => {
    for (let n = 0; n < 6; n++) {
      const { status, text } = await routes.client.send('HEAD', at('/zip?path=src'));
      expect([status, text]).toEqual([200, '']);
    }
  });

  it('sends 2 zips at a time to each caller, and frees the place of one that is canceled', async () => {
    const archives = createServedArchives(routes.client.deps);
    const open = (caller: string) =>
      archives.zip('local/App', { path: '' }, { ...anyCall, caller });
    const [one, two] = [await open('ada'), await open('ada')];
    await expect(open('ada')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await (await open('grace')).stream.cancel();
    await one.stream.cancel();
    await one.ended;
    await (await open('ada')).stream.cancel();
    // The other one is whole.
    const bytes = Buffer.from(await new Response(two.stream).arrayBuffer());
    expect(bytes.subarray(0, 2).toString()).toBe('PK');
    await two.ended;
  });

  it('gives up a zip that nobody reads, and says so to whoever reads on', async () => {
    const archives = await createArchiveFolder();
    const app = await archives.repository('big');
    await app.commit({ 'noise.bin': randomBytes(2 ** 22).toString('base64') });
    await createChain(archives.root, 'owner__big.bundle', app).version();
    const plain = createPlainArchives({
      ...{ root: archives.root, scratchFolder: archives.scratch, clock: createTestClock() },
      environment: { PATH: process.env.PATH },
      findRecord: async () => null,
      limits: { zipPauseMs: 1 },
    });
    const { stream, ended } = await plain.zip('owner/big', { path: '' }, anyCall);
    await expect.poll(() => archives.leftovers(), { timeout: 60_000 }).toEqual([]);
    await expect(stream.getReader().read()).rejects.toThrow('no longer open');
    await ended;
    await archives.remove();
  });
});
