import { randomBytes } from 'node:crypto';
import {
  copyFile,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseManifest } from '../../lib/archives/manifest.ts';
import { parseNote } from '../../lib/archives/note.ts';
import { systemClock } from '../../lib/clock.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { createRepository, git, type TestRepository, temporaryFolder } from '../support/git.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

let database: TestDatabase;
let folder: string;
let archives: string;
let remove: () => Promise<void>;
let app: TestRepository;
const always = { BACKUP_INCREMENTS_FROM_MIB: '0' };

beforeAll(async () => {
  database = await createPostgres();
});
afterAll(() => database.close());
beforeEach(async () => {
  ({ path: folder, remove } = await temporaryFolder());
  archives = join(folder, 'archives');
  app = await createRepository(join(folder, 'app'));
  // Large enough that a few increments do not make a new full bundle due.
  await app.commit({ 'a.txt': 'one', noise: randomBytes(20_000).toString('hex') }, 'one');
  await app.commit({ 'a.txt': 'two' }, 'two');
  await app.git('branch', 'topic');
});
afterEach(() => remove());

async function backUp(env: Record<string, string> = {}) {
  const args = ['run', '--source', app.path];
  return callWorker({ databaseUrl: database.url, archives, args, env });
}

async function refsOf(path: string): Promise<string[]> {
  return (await git(path, 'for-each-ref', '--format=%(objectname) %(refname)')).split('\n').sort();
}

async function readArchiveNote() {
  const note = parseNote(await readFile(join(archives, 'local__app.bundle.json'), 'utf8'));
  if (note === null) throw new Error('there is no valid note');
  return note;
}

async function refsOfVersion(version: number): Promise<string[]> {
  const path = join(archives, 'local__app.versions', `${version}.json`);
  const refs = parseManifest(await readFile(path, 'utf8'))?.refs ?? {};
  return Object.entries(refs)
    .filter(([name]) => name !== 'HEAD')
    .map(([name, id]) => `${id} ${name}`)
    .sort();
}

/** Restores a version with git alone, and returns its refs. */
async function restore(version: number): Promise<string[]> {
  const { versions, increments } = await readArchiveNote();
  const entry = versions.find((one) => one.version === version);
  const mirror = join(folder, `restored-${version}.git`);
  await rm(mirror, { recursive: true, force: true });
  await git(archives, 'clone', '--quiet', '--mirror', 'local__app.bundle', mirror);
  for (const { name } of increments.slice(0, (entry?.files ?? 1) - 1)) {
    await git(mirror, 'fetch', '--quiet', '--prune', join(archives, name), '+refs/*:refs/*');
  }
  await git(mirror, 'fsck', '--full', '--strict');
  const wanted = await refsOfVersion(version);
  for (const ref of await refsOf(mirror)) {
    await git(mirror, 'update-ref', '-d', ref.split(' ')[1] ?? '');
  }
  for (const ref of wanted) {
    const [id = '', name = ''] = ref.split(' ');
    await git(mirror, 'update-ref', name, id);
  }
  await git(mirror, 'rev-list', '--objects', '--all', '--quiet');
  return refsOf(mirror);
}

async function forcePush(): Promise<void> {
  await app.git('checkout', '--quiet', '--orphan', 'fresh');
  await app.git('rm', '-rq', '--cached', '.');
  await app.commit({ 'a.txt': 'rewritten' }, 'rewritten');
  await app.git('branch', '--force', 'main');
  await app.git('checkout', '--quiet', 'main');
  await app.git('branch', '--delete', 'fresh');
  await app.git('reflog', 'expire', '--expire=now', '--all');
  await app.git('gc', '--quiet', '--prune=now');
}

describe.each([
  ['a full bundle for each version', {}],
  ['increments', always],
])('with %s', (_, env) => {
  it('brings back every version after a force push and deleted branches', async () => {
    const history: string[][] = [];
    const step = async () => {
      expect((await backUp(env)).code).toBe(0);
      history.push(await refsOf(app.path));
    };
    await step();
    await forcePush();
    await step();
    await app.git('branch', '-D', 'topic');
    await step();
    await app.commit({ 'b.txt': 'more' }, 'more');
    await step();
    expect((await readArchiveNote()).versions).toMatchObject([
      { version: 1, files: 1 },
      { version: 2 },
      { version: 3 },
      { version: 4 },
    ]);
    for (const [index, refs] of history.entries()) {
      expect(await restore(index + 1)).toEqual(refs);
      expect(await refsOfVersion(index + 1)).toEqual(refs);
    }
  });

  it('brings back what there was before the mirror was deleted', async () => {
    await backUp(env);
    const before = await refsOf(app.path);
    await forcePush();
    await backUp(env);
    await rm(`${archives}-data`, { recursive: true });
    await app.commit({ 'c.txt': 'later' }, 'later');
    expect((await backUp(env)).code).toBe(0);
    expect(await restore(1)).toEqual(before);
    expect(await restore(3)).toEqual(await refsOf(app.path));
  });

  it('clones without what is kept', async () => {
    await backUp(env);
    await forcePush();
    await backUp(env);
    await git(folder, 'clone', '--quiet', join(archives, 'local__app.bundle'), 'plain');
    expect((await refsOf(join(folder, 'plain'))).join('\n')).not.toContain('kept');
  });
});

it('replaces nothing when the source is emptied, and says what it had', async () => {
  await backUp();
  const before = await refsOf(app.path);
  await rm(app.path, { recursive: true });
  await createRepository(app.path);
  const { code, stderr } = await backUp();
  expect(code).toBe(1);
  expect(stderr).toContain('version 1 with 3 refs');
  expect(await restore(1)).toEqual(before);
});

it('writes only what is new as an increment, which nothing overwrites', async () => {
  await backUp(always);
  await writeFile(join(archives, 'local__app.1.bundle'), 'the archive of a repository app.1');
  await app.commit({ 'b.txt': 'x'.repeat(10) }, 'three');
  await backUp(always);
  const { increments } = await readArchiveNote();
  expect(increments).toMatchObject([{ name: 'local__app.2.bundle' }]);
  const lines = (await git(archives, 'bundle', 'list-heads', 'local__app.2.bundle')).split('\n');
  expect(lines).toHaveLength(3);
  expect(await readFile(join(archives, 'local__app.1.bundle'), 'utf8')).toContain('app.1');
});

it('compacts a chain into a full bundle and deletes the increments', async () => {
  await backUp(always);
  const before = await refsOf(app.path);
  await forcePush();
  for (let commit = 0; commit < 12; commit++) {
    await app.commit({ 'b.txt': randomBytes(2_000).toString('hex') }, `commit ${commit}`);
    await backUp(always);
  }
  const { increments, versions } = await readArchiveNote();
  expect(versions).toHaveLength(13);
  expect(increments.length).toBeLessThan(12);
  const bundles = (await readdir(archives)).filter((name) => name.endsWith('.bundle'));
  expect(bundles).toHaveLength(1 + increments.length);
  expect(await restore(1)).toEqual(before);
  expect(await restore(13)).toEqual(await refsOf(app.path));
});

it('links each manifest to the one before', async () => {
  await backUp();
  await app.commit({ 'b.txt': 'three' }, 'three');
  await backUp();
  const { versions } = await readArchiveNote();
  const second = await readFile(join(archives, 'local__app.versions', '2.json'), 'utf8');
  expect(parseManifest(second)).toMatchObject({
    address: app.path,
    previous_sha256: versions[0]?.manifest_sha256,
    head_branch: 'refs/heads/main',
  });
});

it('warns of a rewritten history, with before and after', async () => {
  await backUp();
  await forcePush();
  const { stderr } = await backUp();
  expect(stderr).toMatch(
    /warn: the history of main was rewritten: [0-9a-f]{12} became [0-9a-f]{12}; what was there is kept in version 1/,
  );
  expect((await readArchiveNote()).versions.at(-1)?.warning).toContain('was rewritten');
});

it('takes over the archive of an earlier release as its first version', async () => {
  await backUp();
  const before = await refsOf(app.path);
  const path = join(archives, 'local__app.bundle.json');
  const note = JSON.parse(await readFile(path, 'utf8'));
  for (const field of ['versions', 'increments', 'address', 'refs_sha256', 'next_increment']) {
    delete note[field];
  }
  await writeFile(path, JSON.stringify(note));
  await rm(join(archives, 'local__app.versions'), { recursive: true });
  await rm(`${archives}-data`, { recursive: true });
  expect((await backUp()).stdout).toContain('1 unchanged');
  await forcePush();
  expect((await backUp()).code).toBe(0);
  expect((await readArchiveNote()).versions).toMatchObject([{ version: 1 }, { version: 2 }]);
  expect(await restore(1)).toEqual(before);
});

describe('a damaged archive', () => {
  it('is written again from the mirror, with all versions', async () => {
    await backUp();
    const before = await refsOf(app.path);
    await forcePush();
    await backUp();
    await truncate(join(archives, 'local__app.bundle'), 100);
    await app.commit({ 'b.txt': 'three' }, 'three');
    const { code, stderr } = await backUp();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('from the mirror'),
    });
    expect(await restore(1)).toEqual(before);
  });

  it('is set aside if the mirror is gone, and the run fails', async () => {
    await backUp();
    await truncate(join(archives, 'local__app.bundle'), 100);
    await rm(`${archives}-data`, { recursive: true });
    const { code, stderr } = await backUp();
    expect(code).toBe(1);
    expect(stderr).toMatch(/is set aside as local__app\.bundle\.damaged-/);
    expect((await readdir(archives)).some((name) => name.includes('.damaged-'))).toBe(true);
    expect(await restore(2)).toEqual(await refsOf(app.path));
    expect((await backUp()).code).toBe(0);
  });

  it('is noticed when an increment is missing', async () => {
    await backUp(always);
    await app.commit({ 'b.txt': 'three' }, 'three');
    await backUp(always);
    await rm(join(archives, 'local__app.1.bundle'));
    expect((await backUp(always)).stderr).toContain('local__app.1.bundle is missing');
    expect(await restore(2)).toEqual(await refsOf(app.path));
  });
});

it('rebuilds a damaged mirror', async () => {
  await backUp();
  const objects = join(`${archives}-data`, 'mirrors', 'local__app.git', 'objects', 'pack');
  for (const name of await readdir(objects)) {
    if (name.endsWith('.pack')) await truncate(join(objects, name), 20);
  }
  await app.commit({ 'b.txt': 'three' }, 'three');
  expect(await backUp()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is built again'),
  });
  expect(await restore(2)).toEqual(await refsOf(app.path));
});

it('finishes what a killed run began: the note is there and the bundle is not', async () => {
  await backUp();
  const before = await refsOf(app.path);
  await copyFile(join(archives, 'local__app.bundle'), join(folder, 'first.bundle'));
  await forcePush();
  await backUp();
  const path = join(archives, 'local__app.bundle.json');
  const note = JSON.parse(await readFile(path, 'utf8'));
  await copyFile(join(folder, 'first.bundle'), join(archives, 'local__app.bundle'));
  const { size, mtimeMs } = await stat(join(archives, 'local__app.bundle'));
  const [first] = note.versions;
  note.replacing = {
    sha256: first.sha256 ?? null,
    size_bytes: size,
    modified_ms: Math.floor(mtimeMs),
    versions: [first],
  };
  await writeFile(path, JSON.stringify(note));
  expect((await backUp()).code).toBe(0);
  const { versions } = await readArchiveNote();
  expect(versions.map(({ version }) => version)).toEqual([1, 3]);
  expect(await restore(1)).toEqual(before);
  expect(await restore(3)).toEqual(await refsOf(app.path));
});

it('archives a source whose old objects have defects, and says so', async () => {
  const tree = await app.git('rev-parse', 'HEAD^{tree}');
  const text = `tree ${tree}\nauthor A <a@example.org> 1 +051800\ncommitter A <a@example.org> 1 +0000\n\nold\n`;
  await writeFile(join(folder, 'commit'), text);
  const id = await app.git(
    'hash-object',
    '-t',
    'commit',
    '-w',
    '--literally',
    join(folder, 'commit'),
  );
  await app.git('update-ref', 'refs/heads/old', id);
  const { code, stderr } = await backUp();
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('with a defect') });
  await app.commit({ 'b.txt': 'three' }, 'three');
  expect((await backUp()).code).toBe(0);
});

describe('bit rot, which neither size nor time tells', () => {
  async function flipBytes(name: string): Promise<void> {
    const path = join(archives, name);
    const { atimeMs, mtimeMs } = await stat(path);
    const bytes = await readFile(path);
    bytes.fill(bytes[bytes.length - 30] === 7 ? 8 : 7, bytes.length - 30, bytes.length - 26);
    await writeFile(path, bytes);
    await utimes(path, atimeMs / 1_000, mtimeMs / 1_000);
  }
  const tomorrow = () => ({ ...systemClock, now: () => Date.now() + 24 * 60 * 60_000 });
  const again = (env = {}) => {
    const args = ['run', '--source', app.path];
    return callWorker({ databaseUrl: database.url, archives, args, env, clock: tomorrow() });
  };

  it.each([
    ['a full bundle', {}, 'local__app.bundle'],
    ['an increment', always, 'local__app.1.bundle'],
  ])('in %s is found, and the archive is written again from the mirror', async (_, env, name) => {
    await backUp(env);
    const before = await refsOf(app.path);
    await forcePush();
    await backUp(env);
    await flipBytes(name);
    expect((await backUp(env)).stdout).toContain('1 unchanged');
    const { code, stdout, stderr } = await again(env);
    expect(stderr).toContain(`error: the archive is damaged: ${name} was changed`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
    expect(await restore(1)).toEqual(before);
    expect(await restore(2)).toEqual(await refsOf(app.path));
    expect((await readArchiveNote()).versions).toHaveLength(2);
  });

  it('fails the repository if the mirror is gone', async () => {
    await backUp();
    await flipBytes('local__app.bundle');
    await rm(`${archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await again();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is set aside') });
  });

  it('of a repository that this run does not back up is a failure of that repository', async () => {
    await backUp();
    await flipBytes('local__app.bundle');
    const other = await createRepository(join(folder, 'other'));
    await other.commit({ 'b.txt': 'b' });
    const args = ['run', '--source', other.path];
    const { code } = await callWorker({
      databaseUrl: database.url,
      archives,
      args,
      clock: tomorrow(),
    });
    expect(code).toBe(1);
    expect(
      await rowsOf(
        database.db,
        "SELECT repo_full_name, error_message FROM backup_results WHERE status = 'failed' ORDER BY id DESC LIMIT 1",
      ),
    ).toEqual([
      {
        repo_full_name: 'local/app',
        error_message: 'the archive is damaged: local__app.bundle was changed since it was written',
      },
    ]);
  });
});

it('says which files of Git LFS the archive lacks', async () => {
  const pointer = (size: number) =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize ${size}\n`;
  await app.commit({
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
    'a.bin': pointer(1_000_000),
    'b.bin': pointer(2_000_000),
  });
  const { code, stderr } = await backUp();
  const incomplete = 'Git LFS: 2 files of HEAD, 2.9 MiB, are not in the archive, only the pointers';
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(incomplete) });
  expect(
    await rowsOf(database.db, 'SELECT incomplete FROM backup_results ORDER BY id DESC LIMIT 1'),
  ).toEqual([{ incomplete }]);
  expect((await readArchiveNote()).incomplete).toBe(incomplete);
});

describe('an archive of which the note or the full bundle is missing', () => {
  const note = 'local__app.bundle.json';
  it.each<[string, Record<string, string>, string[], boolean]>([
    ['its note', {}, [note], true],
    ['its note, and it has increments', always, [note], true],
    ['its full bundle', {}, ['local__app.bundle'], true],
    ['its full bundle, and it has increments', always, ['local__app.bundle'], true],
    ['its note, and the mirror', always, [note], false],
  ])('is written again with all versions: %s', async (_, env, missing, hasMirror) => {
    await backUp(env);
    const before = await refsOf(app.path);
    await forcePush();
    await backUp(env);
    for (const name of missing) await rm(join(archives, name));
    if (!hasMirror) await rm(`${archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await backUp(env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('written again') });
    const { versions } = await readArchiveNote();
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(await restore(1)).toEqual(before);
    expect(await restore(3)).toEqual(await refsOf(app.path));
    expect((await backUp(env)).stdout).toContain('1 unchanged');
  });

  it('is made anew, and the run fails once, if nothing else has what it had', async () => {
    await backUp();
    await rm(join(archives, 'local__app.bundle'));
    await rm(`${archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await backUp();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('the one before is gone, with the version that was recorded'),
    });
    expect(await restore(2)).toEqual(await refsOf(app.path));
    expect((await backUp()).code).toBe(0);
  });
});

it('drops what only pruned versions needed from the archive', async () => {
  await app.git('checkout', '--quiet', 'topic');
  await app.git('symbolic-ref', 'HEAD', 'refs/heads/main');
  for (let round = 0; round < 5; round++) {
    const commit = await app.git('commit-tree', 'main^{tree}', '-p', 'main', '-m', `${round}`);
    await app.git('update-ref', 'refs/heads/topic', commit);
    expect((await backUp({ BACKUP_KEEP: '1 daily' })).code).toBe(0);
  }
  expect((await readArchiveNote()).versions).toMatchObject([{ version: 5 }]);
  const heads = await git(archives, 'bundle', 'list-heads', 'local__app.bundle');
  // What the last version but one had goes when the bundle is next written.
  expect(heads.split('\n').filter((line) => line.includes('refs/kept/'))).toHaveLength(1);
  expect(await readdir(join(archives, 'local__app.versions'))).toEqual(['5.json']);
});

it('rebuilds a mirror whose refs cannot be read', async () => {
  await backUp();
  const packed = join(`${archives}-data`, 'mirrors', 'local__app.git', 'packed-refs');
  await truncate(packed, 70);
  await app.commit({ 'b.txt': 'three' }, 'three');
  expect((await backUp()).code).toBe(0);
  expect(await restore(2)).toEqual(await refsOf(app.path));
});

it('records a version that a killed worker made and did not record', async () => {
  await backUp();
  await app.commit({ 'b.txt': 'three' }, 'three');
  await backUp();
  const rows = () =>
    rowsOf<{ version: number }>(
      database.db,
      "SELECT version FROM archive_versions WHERE repo_full_name = 'local/app' ORDER BY version",
    );
  expect(await rows()).toEqual([{ version: 1 }, { version: 2 }]);
  await database.db.query({
    text: "DELETE FROM archive_versions WHERE repo_full_name = 'local/app' AND version = 2",
  });
  expect((await backUp()).stdout).toContain('1 unchanged');
  expect(await rows()).toEqual([{ version: 1 }, { version: 2 }]);
});
