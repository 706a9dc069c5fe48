import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { VersionChoice } from '../../lib/archives/chain/choose-version.ts';
import { restoreVersion } from '../../lib/restore/restore.ts';
import { type ArchiveFolder, createArchiveFolder } from '../support/archives.ts';
import { createChain, type TestChain } from '../support/chains.ts';
import { createTestClock } from '../support/clock.ts';
import { git, type TestRepository } from '../support/git.ts';

let archives: ArchiveFolder;
let app: TestRepository;
let chain: TestChain;
let target: string;

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  chain = createChain(archives.root, 'team__app.bundle', app);
  target = join(archives.outside, 'restored', 'app');
});
afterEach(() => archives.remove());

function restore(choice: VersionChoice = 'newest', more: { ref?: string; isBare?: boolean } = {}) {
  return restoreVersion(
    {
      root: archives.root,
      repository: 'team/app',
      choice,
      ref: null,
      isBare: false,
      isLimited: true,
      target,
      ...more,
    },
    {
      environment: { PATH: process.env.PATH },
      clock: createTestClock(),
      signal: new AbortController().signal,
    },
  );
}

/** All refs of a repository by name, including HEAD. */
async function refsOf(path: string): Promise<Record<string, string>> {
  const lines = (await git(path, 'show-ref', '--head').catch(() => '')).split('\n');
  return Object.fromEntries(
    lines.filter((line) => line !== '').map((line) => line.split(' ').reverse()),
  );
}

/** Checks what a user of the restored repository sees. */
async function expectWhole(refs: Record<string, string>): Promise<void> {
  expect(await refsOf(target)).toEqual(refs);
  await git(target, 'fsck', '--full', '--strict', '--no-dangling');
  expect(await git(target, 'for-each-ref', 'refs/kept/')).toBe('');
}

async function refusal(choice: VersionChoice = 'newest'): Promise<string> {
  const failure = await restore(choice).then(
    () => null,
    (error: Error) => error,
  );
  expect(await readdir(archives.outside)).toEqual(['app']);
  return failure?.message ?? 'it was restored';
}

describe('every version of a chain', () => {
  beforeEach(async () => {
    await app.commit({ 'a.txt': 'one\n', 'dir/b.txt': 'two\n' });
    await app.git('tag', '-a', '-m', 'first', 'v1');
    await app.git('branch', 'topic');
  });

  /** Six versions: a commit, a force push, a deleted branch, nothing new, a tag on a new branch, an emptied one. */
  async function live(): Promise<Record<string, string>[]> {
    const versions = [await chain.version()];
    await app.commit({ 'a.txt': 'three\n' });
    versions.push(await chain.version());
    await app.git('checkout', '--quiet', '--orphan', 'other');
    await app.commit({ 'c.txt': 'another history\n' });
    await app.git('branch', '--force', 'main', 'other');
    await app.git('checkout', '--quiet', 'main');
    versions.push(await chain.version());
    await app.git('branch', '--delete', '--force', 'topic');
    versions.push(await chain.version());
    versions.push(await chain.version());
    await app.git('checkout', '--quiet', '-b', 'new');
    await app.commit({ 'd.txt': 'new\n' });
    await app.git('tag', 'v2');
    versions.push(await chain.version());
    return versions;
  }

  it('is restored with its own refs, the newest by default', async () => {
    const versions = await live();
    for (const [index, refs] of versions.entries()) {
      target = join(archives.outside, `restored-${index}`);
      const restored = await restore({ version: index + 1 });
      expect(restored).toMatchObject({
        version: index + 1,
        at: `2026-03-0${index + 1}T12:00:00.000Z`,
        archive: 'team__app.bundle',
        files: index + 1,
        isRecorded: true,
        headCommit: refs.HEAD,
      });
      await expectWhole(refs);
      expect(await git(target, 'status', '--porcelain')).toBe('');
    }
    target = join(archives.outside, 'newest');
    expect(await restore()).toMatchObject({ version: 6, headBranch: 'refs/heads/new' });
    expect(await readFile(join(target, 'd.txt'), 'utf8')).toBe('new\n');
    expect(await git(target, 'symbolic-ref', 'HEAD')).toBe('refs/heads/new');
  });

  it('is restored after the chain was compacted into one bundle', async () => {
    const versions = await live();
    await chain.compact();
    expect(await readdir(archives.root)).toHaveLength(3);
    for (const [index, refs] of versions.entries()) {
      target = join(archives.outside, `restored-${index}`);
      expect(await restore({ version: index + 1 })).toMatchObject({ files: 1 });
      await expectWhole(refs);
    }
  });

  it('is restored if the repository was emptied', async () => {
    const first = await chain.version();
    for (const name of await app
      .git('for-each-ref', '--format=%(refname)')
      .then((text) => text.split('\n'))) {
      await app.git('update-ref', '-d', name);
    }
    expect(await chain.version()).toEqual({});
    expect(await restore()).toMatchObject({ refs: [], headCommit: null });
    await expectWhole({});
    expect(await readdir(target)).toEqual(['.git']);
    target = join(archives.outside, 'before');
    await restore({ version: 1 });
    await expectWhole(first);
  });

  it('is restored with SHA-256 objects', async () => {
    await git(archives.outside, 'init', '--quiet', '--object-format=sha256', 'modern');
    const modern = await archives.repository('modern');
    chain = createChain(archives.root, 'team__app.bundle', modern);
    await modern.commit({ 'a.txt': 'one' });
    const first = await chain.version();
    await modern.commit({ 'a.txt': 'two' });
    const second = await chain.version();
    await restore();
    await expectWhole(second);
    target = join(archives.outside, 'before');
    await restore({ version: 1 });
    await expectWhole(first);
  });

  it('is restored with a detached HEAD, also without any branches', async () => {
    const commit = await app.commit({ 'a.txt': 'detached\n' });
    await app.git('checkout', '--quiet', '--detach');
    await app.commit({ 'a.txt': 'more\n' });
    const refs = await chain.version();
    expect(await restore()).toMatchObject({ headBranch: null, headCommit: refs.HEAD });
    await expectWhole(refs);
    expect(await readFile(join(target, 'a.txt'), 'utf8')).toBe('more\n');
    await expect(git(target, 'symbolic-ref', '--quiet', 'HEAD')).rejects.toThrow();
    expect(commit).not.toBe(refs.HEAD);
  });

  it('is restored without a HEAD if the source had none', async () => {
    await app.git('symbolic-ref', 'HEAD', 'refs/heads/missing');
    const refs = await chain.version();
    expect(refs).not.toHaveProperty('HEAD');
    expect(await restore()).toMatchObject({ headCommit: null });
    await expectWhole(refs);
    expect(await readdir(target)).toEqual(['.git']);
  });

  it('is restored with refs to a tree and a file, and with a source ref below refs/kept', async () => {
    await app.git('update-ref', 'refs/odd/tree', 'main^{tree}');
    await app.git('tag', 'file', 'main:a.txt');
    await app.git('update-ref', 'refs/kept/mine', 'main');
    const refs = await chain.version();
    await restore();
    expect(await refsOf(target)).toEqual(refs);
  });

  it('is restored without a work tree if requested', async () => {
    const refs = await chain.version();
    await restore('newest', { isBare: true });
    expect(await git(target, 'rev-parse', '--is-bare-repository')).toBe('true');
    await expectWhole(refs);
    expect(await readdir(target)).not.toContain('hooks');
  });
});

describe('the chosen version', () => {
  beforeEach(async () => {
    for (const text of ['one', 'two', 'three']) {
      await app.commit({ 'a.txt': text });
      await chain.version();
    }
  });

  it.each([
    ['2026-03-02T12:00:00.000Z', 2],
    ['2026-03-03T11:59:59.999Z', 2],
    ['2030-01-01T00:00:00.000Z', 3],
  ])('made at or before %s is number %d', async (time, version) => {
    expect(await restore({ before: Date.parse(time) })).toMatchObject({ version });
    expect(await git(target, 'rev-list', '--count', 'HEAD')).toBe(`${version}`);
  });

  it('is reported as unknown before the first and after the last', async () => {
    expect(await refusal({ before: Date.parse('2026-03-01T11:59:59Z') })).toBe(
      'team__app.bundle has no version that old: its oldest is of 2026-03-01T12:00:00.000Z',
    );
    expect(await refusal({ version: 4 })).toBe(
      'team__app.bundle has no version 4: it has 3, from 1 to 3',
    );
  });

  it('is restored even if an earlier one was pruned', async () => {
    chain.note.versions.splice(1, 1);
    await chain.writeNote();
    expect(await restore({ version: 3 })).toMatchObject({ version: 3 });
    target = join(archives.outside, 'pruned');
    await expect(restore({ version: 2 })).rejects.toThrow('has no version 2');
  });
});

describe('--ref', () => {
  beforeEach(async () => {
    await app.commit({ 'a.txt': 'one' });
    await app.git('tag', '-a', '-m', 'first', 'v1');
    await app.git('branch', 'topic');
    await app.commit({ 'a.txt': 'two' });
    await app.git('update-ref', 'refs/pull/1/head', 'main~1');
    await chain.version();
  });

  it.each([
    ['topic', 'refs/heads/topic'],
    ['refs/heads/topic', 'refs/heads/topic'],
    ['v1', 'refs/tags/v1'],
    ['refs/pull/1/head', 'refs/pull/1/head'],
  ])('restores %s alone', async (ref, name) => {
    const commit = await app.git('rev-parse', `${name}^{commit}`);
    expect(await restore('newest', { ref })).toMatchObject({ refs: [name], headCommit: commit });
    const id = await app.git('rev-parse', name);
    expect(await refsOf(target)).toEqual({ HEAD: commit, [name]: id });
    expect(await readFile(join(target, 'a.txt'), 'utf8')).toBe('one');
  });

  it('rejects a ref that does not exist', async () => {
    await expect(restore('newest', { ref: 'gone' })).rejects.toThrow(
      'this version has no branch or tag gone',
    );
    expect(await readdir(archives.outside)).toEqual(['app']);
  });
});

describe('an archive from an earlier release', () => {
  it('is restored as a single version, even without a note', async () => {
    await app.commit({ 'a.txt': 'one' });
    await app.git('branch', 'topic');
    await app.git('update-ref', 'refs/kept/mine', 'main');
    await archives.bundle('team__app.bundle', app);
    expect(await restore()).toMatchObject({ version: null, isRecorded: false });
    expect(await refsOf(target)).toEqual(await refsOf(app.path));
    target = join(archives.outside, 'again');
    await expect(restore({ version: 1 })).rejects.toThrow(
      'is from an earlier release and holds one',
    );
    await expect(restore({ before: 0 })).rejects.toThrow(
      'is from an earlier release and holds one',
    );
  });

  it('is checked against its note', async () => {
    await app.commit({ 'a.txt': 'one' });
    await archives.bundle('team__app.bundle', app);
    await archives.write(
      'team__app.bundle.json',
      JSON.stringify({ version: 2, archive_sha256: 'ab'.repeat(32) }),
    );
    expect(await refusal()).toMatch(/^CHECKSUM_MISMATCH: team__app\.bundle: its SHA-256 is /);
  });

  it('is rejected if it is incremental', async () => {
    await app.commit({ 'a.txt': 'one' });
    await app.commit({ 'a.txt': 'two' });
    await archives.bundle('team__app.bundle', app, 'main~1..main');
    expect(await refusal()).toMatch(/^INCOMPLETE_HISTORY: team__app\.bundle: /);
  });

  it('is left to tar if it is a tar.gz', async () => {
    await archives.write('team__app.tar.gz', 'anything');
    expect(await refusal()).toMatch(/^team__app\.tar\.gz is not a git bundle: .*tar -xzf/);
  });
});

describe('the target', () => {
  beforeEach(async () => {
    await app.commit({ 'a.txt': 'one' });
    await chain.version();
  });

  it('may be an empty folder', async () => {
    await mkdir(target, { recursive: true });
    await restore();
    expect(await readFile(join(target, 'a.txt'), 'utf8')).toBe('one');
    expect(await readdir(join(target, '..'))).toEqual(['app']);
  });

  it('is left alone if it is not empty', async () => {
    await mkdir(target, { recursive: true });
    await writeFile(join(target, 'mine'), 'kept');
    await expect(restore()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await readdir(target)).toEqual(['mine']);
  });

  it('is left alone if it or a folder above it is a file', async () => {
    await mkdir(join(target, '..'), { recursive: true });
    await writeFile(target, 'kept');
    await expect(restore()).rejects.toThrow('is not an empty folder');
    const file = target;
    target = join(file, 'below');
    await expect(restore()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await readFile(file, 'utf8')).toBe('kept');
  });
});
