import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseManifest } from '../../lib/archives/base/manifest.ts';
import { createRepository, git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { prepareOnce } from '../support/prepare-once.ts';
import { refsOf, useVersionedApp, withIncrements } from '../support/versioned-app.ts';
import { rowsOf } from '../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);

describe.each([
  ['a full bundle for each version', {}],
  ['increments', withIncrements],
])('with %s', (_, env) => {
  it('every version can be restored after a force push and deleted branches', async () => {
    const history: string[][] = [];
    const step = async () => {
      expect((await world.backUp(env)).code).toBe(0);
      history.push(await refsOf(world.app.path));
    };
    await step();
    await world.forcePush();
    await step();
    await world.app.git('branch', '-D', 'topic');
    await step();
    await world.app.commit({ 'b.txt': 'more' }, 'more');
    await step();
    expect((await world.readNote()).versions).toMatchObject([
      { version: 1, files: 1 },
      { version: 2 },
      { version: 3 },
      { version: 4 },
    ]);
    for (const [index, refs] of history.entries()) {
      expect(await world.restore(index + 1)).toEqual(refs);
      expect(await world.refsOfVersion(index + 1)).toEqual(refs);
    }
  });

  it('the size of what is new is that of the new objects, whatever is written', async () => {
    await world.backUpFirst(env);
    for (const text of ['three', 'four']) {
      await world.app.commit({ 'a.txt': text }, text);
      await world.backUp(env);
    }
    await world.app.git('tag', 'v1');
    await world.backUp(env);
    const rows = await rowsOf<{ size_bytes: number; new_bytes: number }>(
      database.db,
      'SELECT size_bytes, new_bytes FROM archive_versions ORDER BY version',
    );
    const [first, ...others] = rows;
    expect(first?.new_bytes).toBe(first?.size_bytes);
    expect(first?.new_bytes).toBeGreaterThan(20_000);
    for (const { new_bytes } of others) expect(new_bytes).toBeLessThan(1_000);
    expect(others).toHaveLength(3);
  });

  /** Returns the earlier refs. */
  const backUpRewritten = prepareOnce(world, database, async () => {
    await world.backUpFirst(env);
    const before = await refsOf(world.app.path);
    await world.forcePush();
    await world.backUp(env);
    return before;
  });

  it('versions from before the mirror was deleted can be restored', async () => {
    const before = await backUpRewritten();
    await rm(`${world.archives}-data`, { recursive: true });
    await world.app.commit({ 'c.txt': 'later' }, 'later');
    expect((await world.backUp(env)).code).toBe(0);
    expect(await world.restore(1)).toEqual(before);
    expect(await world.restore(3)).toEqual(await refsOf(world.app.path));
  });

  it('a clone contains no kept refs', async () => {
    await backUpRewritten();
    await git(world.folder, 'clone', '--quiet', join(world.archives, 'local__app.bundle'), 'plain');
    expect((await refsOf(join(world.folder, 'plain'))).join('\n')).not.toContain('kept');
  });
});

it('a run replaces nothing if the source was emptied, and says what it had', async () => {
  await world.backUpFirst();
  const before = await refsOf(world.app.path);
  await rm(world.app.path, { recursive: true });
  await createRepository(world.app.path);
  const { code, stderr } = await world.backUp();
  expect(code).toBe(1);
  expect(stderr).toContain('version 1 with 3 refs');
  expect(await world.restore(1)).toEqual(before);
});

it('a run writes only what is new as an increment, which nothing overwrites', async () => {
  await world.backUpFirst(withIncrements);
  await writeFile(
    join(world.archives, 'local__app.1.bundle'),
    'the archive of a repository world.app.1',
  );
  await world.app.commit({ 'b.txt': 'x'.repeat(10) }, 'three');
  await world.backUp(withIncrements);
  const { increments } = await world.readNote();
  expect(increments).toMatchObject([{ name: 'local__app.2.bundle' }]);
  const lines = (await git(world.archives, 'bundle', 'list-heads', 'local__app.2.bundle')).split(
    '\n',
  );
  expect(lines).toHaveLength(3);
  expect(await readFile(join(world.archives, 'local__app.1.bundle'), 'utf8')).toContain('app.1');
});

it('a run compacts a chain into a full bundle and deletes the increments', async () => {
  await world.backUpFirst(withIncrements);
  const before = await refsOf(world.app.path);
  await world.forcePush();
  for (let commit = 0; commit < 12; commit++) {
    await world.app.commit({ 'b.txt': randomBytes(2_000).toString('hex') }, `commit ${commit}`);
    await world.backUp(withIncrements);
  }
  const { increments, versions } = await world.readNote();
  expect(versions).toHaveLength(13);
  expect(increments.length).toBeLessThan(12);
  const bundles = (await readdir(world.archives)).filter((name) => name.endsWith('.bundle'));
  expect(bundles).toHaveLength(1 + increments.length);
  expect(await world.restore(1)).toEqual(before);
  expect(await world.restore(13)).toEqual(await refsOf(world.app.path));
});

it('each manifest links to its predecessor', async () => {
  await world.backUpFirst();
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  await world.backUp();
  const { versions } = await world.readNote();
  const second = await readFile(join(world.archives, 'local__app.versions', '2.json'), 'utf8');
  expect(parseManifest(second)).toMatchObject({
    address: world.app.path,
    previous_sha256: versions[0]?.manifest_sha256,
    head_branch: 'refs/heads/main',
  });
});

it('a run warns about a rewritten history, with the commits before and after', async () => {
  await world.backUpFirst();
  await world.forcePush();
  const { stderr } = await world.backUp();
  expect(stderr).toMatch(
    /warn: the history of main was rewritten: [0-9a-f]{12} became [0-9a-f]{12}; what was there is kept in version 1/,
  );
  expect((await world.readNote()).versions.at(-1)?.warning).toContain('was rewritten');
});

it('a run adopts the archive of an earlier release as its first version', async () => {
  await world.backUpFirst();
  const before = await refsOf(world.app.path);
  const path = join(world.archives, 'local__app.bundle.json');
  const note = JSON.parse(await readFile(path, 'utf8'));
  for (const field of ['versions', 'increments', 'address', 'refs_sha256', 'next_increment']) {
    delete note[field];
  }
  await writeFile(path, JSON.stringify(note));
  await rm(join(world.archives, 'local__app.versions'), { recursive: true });
  await rm(`${world.archives}-data`, { recursive: true });
  for (const table of ['archive_versions', 'archive_refs']) {
    await database.db.query({ text: `DELETE FROM ${table}` });
  }
  expect((await world.backUp()).stdout).toContain('1 unchanged');
  await world.forcePush();
  expect((await world.backUp()).code).toBe(0);
  expect((await world.readNote()).versions).toMatchObject([{ version: 1 }, { version: 2 }]);
  expect(await world.restore(1)).toEqual(before);
});

it('a run archives a source whose old objects have defects, and says so', async () => {
  const tree = await world.app.git('rev-parse', 'HEAD^{tree}');
  const text = `tree ${tree}\nauthor A <a@example.org> 1 +051800\ncommitter A <a@example.org> 1 +0000\n\nold\n`;
  await writeFile(join(world.folder, 'commit'), text);
  const id = await world.app.git(
    'hash-object',
    '-t',
    'commit',
    '-w',
    '--literally',
    join(world.folder, 'commit'),
  );
  await world.app.git('update-ref', 'refs/heads/old', id);
  const { code, stderr } = await world.backUp();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('despite a defect'),
  });
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  expect((await world.backUp()).code).toBe(0);
});

it('a run names the Git LFS files that the archive lacks', async () => {
  const pointer = (size: number) =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize ${size}\n`;
  await world.app.commit({
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
    'a.bin': pointer(1_000_000),
    'b.bin': pointer(2_000_000),
  });
  const { code, stderr } = await world.backUp();
  const incomplete = 'Git LFS: 2 files of HEAD, 2.9 MiB, are not in the archive, only the pointers';
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(incomplete) });
  expect(
    await rowsOf(database.db, 'SELECT incomplete FROM backup_results ORDER BY id DESC LIMIT 1'),
  ).toEqual([{ incomplete }]);
  expect((await world.readNote()).incomplete).toBe(incomplete);
});

it('a run says how many submodules the archive lacks, until there are none', async () => {
  const commit = await world.app.git('rev-parse', 'main');
  const last = () =>
    rowsOf(database.db, 'SELECT incomplete FROM backup_results ORDER BY id DESC LIMIT 1');
  for (const [path, text] of [
    ['one', 'Submodules: 1 is not in the archive, only the commits that are named'],
    ['two', 'Submodules: 2 are not in the archive, only the commits that are named'],
  ]) {
    await world.app.git('update-index', '--add', '--cacheinfo', `160000,${commit},${path}`);
    await world.app.git('commit', '--quiet', '-m', `add ${path}`);
    expect((await world.backUp()).code).toBe(0);
    expect(await last()).toEqual([{ incomplete: text }]);
  }
  await world.app.git('rm', '--quiet', '--cached', 'one', 'two');
  await world.app.git('commit', '--quiet', '-m', 'remove them');
  await world.backUp();
  expect(await last()).toEqual([{ incomplete: null }]);
});

it('a run drops what only pruned versions needed from the archive', async () => {
  await world.app.git('checkout', '--quiet', 'topic');
  await world.app.git('symbolic-ref', 'HEAD', 'refs/heads/main');
  for (let round = 0; round < 5; round++) {
    const commit = await world.app.git(
      'commit-tree',
      'main^{tree}',
      '-p',
      'main',
      '-m',
      `${round}`,
    );
    // Not a branch: rewriting one would hold back older versions.
    await world.app.git('update-ref', 'refs/notes/topic', commit);
    expect((await world.backUp({ BACKUP_KEEP: '1 daily' })).code).toBe(0);
  }
  expect((await world.readNote()).versions).toMatchObject([{ version: 5 }]);
  const heads = await git(world.archives, 'bundle', 'list-heads', 'local__app.bundle');
  // What the second-to-last version had is dropped when the bundle is next written.
  expect(heads.split('\n').filter((line) => line.includes('refs/kept/'))).toHaveLength(1);
  expect(await readdir(join(world.archives, 'local__app.versions'))).toEqual(['5.json']);
});
