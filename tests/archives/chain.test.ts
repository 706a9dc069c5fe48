import { cp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatManifest, hashText, parseManifest } from '../../lib/archives/base/manifest.ts';
import { openArchive } from '../../lib/archives/base/open-archive.ts';
import { readTips } from '../../lib/archives/chain/read-manifests.ts';
import { type ArchiveFolder, anyCall, sha256 } from '../support/archives.ts';
import { flipByte, type TestChain, useChain } from '../support/chains.ts';
import type { TestRepository } from '../support/git.ts';
import { git } from '../support/git.ts';

// How readers handle an archive that increments continue.

const NAME = 'team__app.bundle';
const INCREMENTS = ['team__app.1.bundle', 'team__app.2.bundle'] as const;
let archives: ArchiveFolder;
let app: TestRepository;
let chain: TestChain;

const world = useChain(NAME, async ({ app, chain }) => {
  await app.commit({ 'a.txt': 'one' });
  await app.git('branch', 'topic');
  await chain.version();
  await app.git('checkout', '--quiet', '--orphan', 'other');
  await app.commit({ 'a.txt': 'two' });
  await app.git('branch', '--force', 'main', 'other');
  await app.git('checkout', '--quiet', 'main');
  await app.git('branch', '--delete', '--force', 'topic', 'other');
  await chain.version();
  await app.commit({ 'b.txt': 'three' });
  await chain.version();
});
beforeEach(() => {
  ({ archives, app, chain } = world);
});

const inRoot = (name: string) => join(archives.root, name);
const verify = (name = 'team/app') => archives.reader().verify(name, anyCall);
const inspect = () => archives.reader().inspect('team/app', { limit: 9 }, anyCall);

async function refusal(name?: string): Promise<string> {
  const failure = await verify(name).then(
    () => null,
    (error: Error) => error,
  );
  expect(await archives.leftovers()).toEqual([]);
  return failure?.message ?? 'it was found valid';
}

describe('a whole chain', () => {
  const whole = {
    checksum: 'passed',
    header: 'passed',
    pack_checksum: 'passed',
    objects: 'passed',
    history: 'passed',
  };

  it('is verified, with the refs that the source has now', async () => {
    const commit = await app.git('rev-parse', 'main');
    expect(await verify()).toMatchObject({
      archive: NAME,
      files: 3,
      integrity_status: 'VALID_UNCOMPROMISED',
      refs: [
        { name: 'refs/heads/main', commit },
        { name: 'HEAD', commit },
      ],
      ref_count: 2,
      proof: whole,
    });
  });

  it('is verified after compaction, without the refs that were kept', async () => {
    await app.git('update-ref', 'refs/kept/source/mine', 'main');
    await chain.version();
    await chain.compact();
    const heads = await git(archives.root, 'bundle', 'list-heads', NAME);
    expect(heads).toContain('refs/kept/1/heads/topic');
    const { refs, files, proof } = await verify();
    expect(refs.map(({ name }) => name)).toEqual(['refs/kept/mine', 'refs/heads/main', 'HEAD']);
    expect([files, proof]).toEqual([1, whole]);
  });

  it('is read at its newest version', async () => {
    const { entries } = await inspect();
    expect(entries.map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
    const extract = (path: string) => archives.reader().extract('team/app', path, {}, anyCall);
    expect((await extract('a.txt')).content).toBe('two');
    expect((await extract('b.txt')).content).toBe('three');
  });

  it('may contain an increment without objects, or without refs', async () => {
    await chain.version();
    expect(await verify()).toMatchObject({ files: 4, ref_count: 2 });
    await app.git('update-ref', '-d', 'refs/heads/main');
    await chain.version();
    expect(await verify()).toMatchObject({ files: 5, refs: [], ref_count: 0 });
    await expect(inspect()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('can be restored by git alone', async () => {
    await app.git('tag', '-a', '-m', 'first', 'v1', 'main');
    const refs = await chain.version();
    await chain.version();
    await git(archives.outside, 'clone', '--quiet', '--mirror', inRoot(NAME), 'mirror');
    const mirror = join(archives.outside, 'mirror');
    for (const { name } of chain.note.increments) {
      await git(mirror, 'fetch', '--quiet', '--prune', inRoot(name), '+refs/*:refs/*');
    }
    const { HEAD, ...others } = refs;
    const lines = (await git(mirror, 'show-ref')).split('\n');
    expect(Object.fromEntries(lines.map((line) => line.split(' ').reverse()))).toEqual(others);
    expect(await git(mirror, 'rev-parse', 'HEAD')).toBe(HEAD);
    await git(mirror, 'fsck', '--full');
  });
});

describe.each(INCREMENTS)('the increment %s', (name) => {
  it('is named when it is missing', async () => {
    await rm(inRoot(name));
    const fault = `CORRUPT_ARCHIVE: ${NAME}: ${name}, which continues it, is missing`;
    expect(await refusal()).toContain(fault);
    await expect(inspect()).rejects.toThrow(`${name}, which continues it, is missing`);
  });

  it('is named when it was altered', async () => {
    await flipByte(inRoot(name));
    expect(await refusal()).toMatch(
      new RegExp(
        `^CHECKSUM_MISMATCH: ${NAME}: ${name}: its SHA-256 is \\w+, recorded is \\w+ \\(checksum failed, `,
      ),
    );
  });

  it('is named when it was swapped for another', async () => {
    await cp(inRoot(name === INCREMENTS[0] ? INCREMENTS[1] : INCREMENTS[0]), inRoot(name));
    expect(await refusal()).toMatch(new RegExp(`^CHECKSUM_MISMATCH: ${NAME}: ${name}: `));
  });

  it('is named when its pack is damaged, even if the note agrees', async () => {
    await flipByte(inRoot(name));
    const digest = sha256(await readFile(inRoot(name)));
    for (const one of chain.note.increments) if (one.name === name) one.sha256 = digest;
    await chain.writeNote();
    expect(await refusal()).toMatch(
      new RegExp(`^CORRUPT_ARCHIVE: ${NAME}: ${name}: the pack does not .*pack_checksum failed`),
    );
  });

  it('is not read if it leads out of the folder', async () => {
    await rename(inRoot(name), join(archives.outside, name));
    await symlink(join(archives.outside, name), inRoot(name));
    expect(await refusal()).toContain(`${name}, which continues it, is missing`);
  });

  it('is not the archive of a repository with its name', async () => {
    const alone = name.replace('.bundle', '').replace('__', '/');
    expect(await refusal(alone)).toBe(
      `there is no archive of ${alone} in the archive folder: ${name} is a part of the archive of team/app`,
    );
    chain.note.increments.splice(0);
    await chain.writeNote();
    expect(await refusal(alone)).toMatch(
      new RegExp(`^${name} may be of ${alone} or team/app, and neither a note`),
    );
  });
});

it('the first file is compared with the database, and the others with the note', async () => {
  archives.records.set('team/app', { archive_key: NAME, archive_sha256: 'ab'.repeat(32) });
  expect(await refusal()).toMatch(/^CHECKSUM_MISMATCH: team__app\.bundle: its SHA-256 is /);
});

it('an increment that the note does not list is ignored', async () => {
  await writeFile(inRoot('team__app.9.bundle'), 'left by a run that was killed');
  expect(await verify()).toMatchObject({ files: 3 });
});

it('a chain is limited in its total size', async () => {
  const { size } = await stat(inRoot(NAME));
  const reader = archives.reader({ limits: { unpackedBundleBytes: size } });
  await expect(reader.verify('team/app', anyCall)).rejects.toThrow('was not unpacked because');
  await flipByte(inRoot(INCREMENTS[1]));
  await expect(reader.verify('team/app', anyCall)).rejects.toThrow(/^CHECKSUM_MISMATCH/);
});

describe('the manifest of each version', () => {
  const path = (version: number) => inRoot(`team__app.versions/${version}.json`);

  it('is reported when it is missing', async () => {
    await rm(path(1));
    expect(await refusal()).toMatch(
      /^CORRUPT_ARCHIVE: .* team__app\.versions\/1\.json, the manifest of version 1, is missing \(.*objects passed/,
    );
  });

  it('is compared with the note', async () => {
    await writeFile(path(2), `${await readFile(path(2), 'utf8')} `);
    expect(await refusal()).toMatch(/^CHECKSUM_MISMATCH: .* team__app\.versions\/2\.json: its SHA/);
  });

  it('names objects that must exist', async () => {
    const manifest = parseManifest(await readFile(path(3), 'utf8'));
    const gone = 'ab'.repeat(20);
    if (manifest === null) throw new Error('it is not a manifest');
    manifest.refs['refs/heads/gone'] = gone;
    await writeFile(path(3), formatManifest(manifest));
    for (const entry of chain.note.versions) {
      if (entry.version === 3) entry.manifest_sha256 = hashText(formatManifest(manifest));
    }
    await chain.writeNote();
    expect(await refusal()).toMatch(new RegExp(`^INCOMPLETE_HISTORY: .*${gone}.*history failed`));
  });

  it('is not reported missing if its version was pruned after the archive was opened', async () => {
    const archive = await openArchive(archives.root, 'team/app', null);
    await rm(path(1));
    await expect(readTips(archive, anyCall.signal)).rejects.toThrow('1.json');
    const { note } = chain;
    await chain.writeNote({ ...note, versions: note.versions.slice(1) });
    expect((await readTips(archive, anyCall.signal)).size).toBe(2);
    await archive.close();
  });
});

describe('while the full bundle is being replaced', () => {
  it('the chain of the bundle in place is read, before and after', async () => {
    const old = chain.note;
    const { mtimeMs } = await stat(inRoot(NAME));
    const { bytes, note } = await chain.pack();
    await writeFile(inRoot('new'), bytes);
    const { mtimeMs: newMs } = await stat(inRoot('new'));
    await chain.writeNote({
      ...note,
      archive_modified_ms: Math.floor(newMs),
      replacing: {
        sha256: old.archive_sha256,
        size_bytes: old.archive_size_bytes,
        modified_ms: Math.floor(mtimeMs),
        increments: old.increments,
        versions: old.versions,
      },
    });
    expect(await verify()).toMatchObject({ files: 3, integrity_status: 'VALID_UNCOMPROMISED' });
    await rename(inRoot('new'), inRoot(NAME));
    for (const name of INCREMENTS) await rm(inRoot(name));
    expect(await verify()).toMatchObject({ files: 1, integrity_status: 'VALID_UNCOMPROMISED' });
  });
});
