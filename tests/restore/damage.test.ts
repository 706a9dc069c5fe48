import { cp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatManifest, hashText, parseManifest } from '../../lib/archives/base/manifest.ts';
import { restoreVersion } from '../../lib/restore/restore.ts';
import { type ArchiveFolder, sha256 } from '../support/archives.ts';
import { flipByte, type TestChain, useChain } from '../support/chains.ts';
import { createTestClock } from '../support/clock.ts';
import { git, type TestRepository } from '../support/git.ts';

// A damaged archive is named and never restored, and the attempt leaves nothing behind.

const NAME = 'team__app.bundle';
let archives: ArchiveFolder;
let app: TestRepository;
let chain: TestChain;
let target: string;

const world = useChain(NAME, async ({ app, chain }) => {
  for (const text of ['one', 'two', 'three']) {
    await app.commit({ 'a.txt': text });
    await chain.version();
  }
});
beforeEach(() => {
  ({ archives, app, chain } = world);
  target = join(archives.outside, 'restored', 'app');
});

const inRoot = (name: string) => join(archives.root, name);
const manifestOf = (version: number) => inRoot(`team__app.versions/${version}.json`);

function restore(version?: number, signal = new AbortController().signal) {
  const choice = version === undefined ? ('newest' as const) : { version };
  const request = {
    ...{ root: archives.root, repository: 'team/app', ref: null },
    ...{ isBare: false, isLimited: true },
  };
  return restoreVersion(
    { ...request, choice, target },
    { environment: { PATH: process.env.PATH }, clock: createTestClock(), signal },
  );
}

async function refusal(version?: number): Promise<string> {
  const failure = await restore(version).then(
    () => null,
    (error: Error) => error,
  );
  expect(await readdir(archives.outside)).toEqual(['app']);
  return failure?.message ?? 'it was restored';
}

describe.each([NAME, 'team__app.1.bundle', 'team__app.2.bundle'])('the file %s', (name) => {
  const told = name === NAME ? NAME : `${NAME}: ${name}`;

  it('is rejected if a byte was changed', async () => {
    await flipByte(inRoot(name));
    expect(await refusal()).toContain(`CHECKSUM_MISMATCH: ${told}: its SHA-256 is `);
  });

  it('is rejected if it was cut short', async () => {
    const bytes = await readFile(inRoot(name));
    await writeFile(inRoot(name), bytes.subarray(0, -30));
    expect(await refusal()).toContain(`CHECKSUM_MISMATCH: ${told}: its SHA-256 is `);
  });

  it('is rejected if another file replaced it', async () => {
    const other = name === 'team__app.1.bundle' ? 'team__app.2.bundle' : 'team__app.1.bundle';
    await cp(inRoot(other), inRoot(name));
    expect(await refusal()).toContain(`CHECKSUM_MISMATCH: ${told}: its SHA-256 is `);
  });

  it('is rejected if its pack is damaged, even if the note agrees', async () => {
    await flipByte(inRoot(name));
    const changed = sha256(await readFile(inRoot(name)));
    const { note } = chain;
    const increments = note.increments.map((one) =>
      one.name === name ? { ...one, sha256: changed } : one,
    );
    const archive_sha256 = name === NAME ? changed : note.archive_sha256;
    await chain.writeNote({ ...note, archive_sha256, increments });
    expect(await refusal()).toMatch(new RegExp(`^CORRUPT_ARCHIVE: ${told}: `));
  });
});

it('restoring names a missing increment, and still restores the versions before it', async () => {
  await rm(inRoot('team__app.2.bundle'));
  expect(await refusal()).toBe(
    `CORRUPT_ARCHIVE: ${NAME}: team__app.2.bundle, which continues it, is missing`,
  );
  expect(await restore(2)).toMatchObject({ version: 2 });
});

it('restoring reads no increment that a version does not need', async () => {
  await flipByte(inRoot('team__app.2.bundle'));
  await restore(2);
  expect(await readFile(join(target, 'a.txt'), 'utf8')).toBe('two');
});

it('restoring names swapped increments', async () => {
  await rename(inRoot('team__app.1.bundle'), inRoot('x'));
  await rename(inRoot('team__app.2.bundle'), inRoot('team__app.1.bundle'));
  await rename(inRoot('x'), inRoot('team__app.2.bundle'));
  expect(await refusal()).toMatch(/^CHECKSUM_MISMATCH: .* team__app\.1\.bundle: its SHA-256 is/);
});

it('restoring detects a chain that lacks a file missing from the note as well', async () => {
  const { note } = chain;
  const versions = note.versions.map((entry) => ({ ...entry, files: Math.min(entry.files, 2) }));
  await chain.writeNote({ ...note, increments: note.increments.slice(1), versions });
  expect(await refusal()).toMatch(/^INCOMPLETE_HISTORY: .*objects that its refs need are missing/);
});

it('restoring rejects a version that needs more files than the note lists', async () => {
  await chain.writeNote({ ...chain.note, increments: chain.note.increments.slice(0, 1) });
  expect(await refusal()).toBe(
    `CORRUPT_ARCHIVE: ${NAME}: its note lists 2 of the 3 files it needs`,
  );
});

describe('restoring', () => {
  it('names a missing manifest', async () => {
    await rm(manifestOf(3));
    expect(await refusal()).toBe(
      `CORRUPT_ARCHIVE: ${NAME}: team__app.versions/3.json, the manifest of version 3, is missing`,
    );
  });

  it('names an altered manifest', async () => {
    const text = await readFile(manifestOf(3), 'utf8');
    await writeFile(manifestOf(3), text.replace('2026-03-03', '2026-03-04'));
    expect(await refusal()).toMatch(
      /^CHECKSUM_MISMATCH: team__app\.bundle: team__app\.versions\/3\.json: its SHA-256 is /,
    );
  });

  it('names the manifest of another version', async () => {
    await cp(manifestOf(2), manifestOf(3));
    const text = await readFile(manifestOf(2), 'utf8');
    await note(3, text);
    expect(await refusal()).toContain('team__app.versions/3.json is the manifest of version 2');
  });

  it('names a manifest that does not follow its predecessor', async () => {
    await rewrite(3, (manifest) => ({ ...manifest, previous_sha256: 'ab'.repeat(32) }));
    expect(await refusal()).toBe(
      `CHECKSUM_MISMATCH: ${NAME}: team__app.versions/3.json does not follow the manifest of version 2`,
    );
  });

  it('accepts a manifest whose predecessor was pruned', async () => {
    await rewrite(3, (manifest) => ({ ...manifest, previous_sha256: 'ab'.repeat(32) }));
    const { note } = chain;
    await chain.writeNote({ ...note, versions: note.versions.filter((one) => one.version !== 2) });
    expect(await restore()).toMatchObject({ version: 3 });
  });

  it.each([
    'refs/heads/../../evil',
    'refs/heads/a\nb',
    'refs/heads/a b',
    'refs/heads/.hidden',
    'refs/heads/a.lock',
    'refs/heads/a@{1}',
    'refs/heads/\ud800',
    'refs/heads/',
    'refs/heads//a',
    'refs/heads/main/below',
    'refs/',
  ])('rejects a manifest with the ref %j', async (name) => {
    await rewrite(3, (manifest) => ({
      ...manifest,
      refs: { ...manifest.refs, [name]: manifest.refs.HEAD ?? '' },
    }));
    expect(await refusal()).toMatch(/^CORRUPT_ARCHIVE: .* a ref that git does not allow: refs\//);
  });

  it.each([
    'refs/heads/-x',
    'refs/heads/--help',
    'refs/heads/größe\u2028',
    "refs/heads/$(x)'",
    'refs/@',
  ])('accepts a manifest with the odd ref %j', async (name) => {
    await rewrite(3, (manifest) => ({
      ...manifest,
      refs: { ...manifest.refs, [name]: manifest.refs.HEAD ?? '' },
    }));
    expect(await restore()).toMatchObject({ refs: expect.arrayContaining([name]) });
    expect(await git(target, 'for-each-ref', '--format=%(refname)')).toContain(name);
  });

  it('rejects a manifest with a ref to a missing object', async () => {
    const gone = 'ab'.repeat(20);
    await rewrite(3, ({ refs, ...rest }) => ({ ...rest, refs: { ...refs, 'refs/x/y': gone } }));
    expect(await refusal()).toMatch(new RegExp(`^INCOMPLETE_HISTORY: .*${gone}`));
  });

  it('rejects a manifest whose HEAD differs from its branch', async () => {
    const first = await app.git('rev-parse', 'main~1');
    await rewrite(3, ({ refs, ...rest }) => ({ ...rest, refs: { ...refs, HEAD: first } }));
    expect(await refusal()).toContain('different commits for HEAD and its branch');
  });

  type Manifest = NonNullable<ReturnType<typeof parseManifest>>;

  /** Changes a manifest along with the note. */
  async function rewrite(version: number, change: (manifest: Manifest) => Manifest) {
    const manifest = parseManifest(await readFile(manifestOf(version), 'utf8'));
    if (manifest === null) throw new Error('it is not a manifest');
    const text = formatManifest(change(manifest));
    await writeFile(manifestOf(version), text);
    await note(version, text);
  }

  async function note(version: number, text: string) {
    for (const entry of chain.note.versions) {
      if (entry.version === version) entry.manifest_sha256 = hashText(text);
    }
    await chain.writeNote();
  }
});

describe('after a worker was killed while replacing a bundle', () => {
  /** Writes a note that announces a new full bundle, as before the bundle is put in place. */
  async function announce() {
    const old = chain.note;
    const { mtimeMs } = await stat(inRoot(NAME));
    await app.commit({ 'a.txt': 'four' });
    await chain.version();
    const { bytes, note } = await chain.pack();
    await writeFile(inRoot('new'), bytes);
    const facts = await stat(inRoot('new'));
    await chain.writeNote({
      ...note,
      archive_modified_ms: Math.floor(facts.mtimeMs),
      replacing: {
        sha256: old.archive_sha256,
        size_bytes: old.archive_size_bytes,
        modified_ms: Math.floor(mtimeMs),
        increments: old.increments.slice(0, 2),
        versions: old.versions.slice(0, 3),
      },
    });
    await rm(inRoot('team__app.3.bundle'));
  }

  it.each([
    ['as it was', false],
    ['in a copy of the folder with other times', true],
  ])('the old chain is restored while its bundle is in place, %s', async (_, isCopy) => {
    await announce();
    if (isCopy) await utimes(inRoot(NAME), new Date(), new Date(1_700_000_000_000));
    expect(await restore()).toMatchObject({ version: 3, files: 3 });
    expect(await readFile(join(target, 'a.txt'), 'utf8')).toBe('three');
    target = join(archives.outside, 'first');
    expect(await restore(1)).toMatchObject({ version: 1, files: 1 });
  });

  it.each([
    ['as it is', false],
    ['in a copy of the folder with other times', true],
  ])('the new bundle is restored once it is in place, %s', async (_, isCopy) => {
    await announce();
    await rename(inRoot('new'), inRoot(NAME));
    if (isCopy) await utimes(inRoot(NAME), new Date(), new Date(1_700_000_000_000));
    for (const version of [4, 1]) {
      target = join(archives.outside, `version-${version}`);
      expect(await restore(version)).toMatchObject({ version, files: 1 });
    }
    expect(await readFile(join(archives.outside, 'version-4/a.txt'), 'utf8')).toBe('four');
  });
});

it('restoring leaves nothing behind when it is stopped', async () => {
  const stop = new AbortController();
  const stopped = restoreVersion(
    {
      root: archives.root,
      repository: 'team/app',
      choice: 'newest',
      ref: null,
      isBare: false,
      isLimited: true,
      target,
    },
    {
      environment: { PATH: process.env.PATH },
      clock: createTestClock(),
      signal: stop.signal,
      onFile: (done) => done === 1 && stop.abort(new Error('stopped')),
    },
  );
  await expect(stopped).rejects.toThrow('stopped');
  expect(await readdir(archives.outside)).toEqual(['app']);
});

it('restoring runs no hooks and follows no attributes of the repository', async () => {
  const marker = join(archives.outside, 'ran');
  await app.commit({
    '.gitattributes': '* filter=evil\n',
    'hooks/post-checkout': `#!/bin/sh\ntouch ${marker}\n`,
  });
  await app.git('config', 'filter.evil.clean', `touch ${marker}; cat`);
  await chain.version();
  await restore();
  expect(await git(target, 'status', '--porcelain')).toBe('');
  expect(await readdir(archives.outside)).toEqual(['app', 'restored']);
  expect(await readdir(join(target, '.git'))).not.toContain('hooks');
});

it('restoring never writes files of the archive into .git or outside the folder', async () => {
  for (const path of ['.git/config', '../evil']) {
    const blob = await app.git('hash-object', '-w', 'a.txt');
    const [folder = '', file = ''] = path.split('/');
    const inner = await mktree(`100644 blob ${blob}\t${file}\n`);
    const tree = await mktree(`040000 tree ${inner}\t${folder}\n`);
    await app.git('update-ref', 'refs/heads/main', await app.git('commit-tree', '-m', 'x', tree));
    await chain.version();
    expect(await refusal()).toMatch(/git cannot check out the files, try `--bare`: .*invalid path/);
    expect(await readdir(archives.outside)).toEqual(['app']);
  }

  async function mktree(entries: string): Promise<string> {
    await writeFile(join(archives.outside, 'app', 'entries'), entries);
    const out = await git(app.path, '-c', 'alias.mk=!git mktree < entries', 'mk');
    return out.trim();
  }
});
