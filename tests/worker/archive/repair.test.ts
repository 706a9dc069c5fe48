import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { prepareOnce } from '../../support/prepare-once.ts';
import { refsOf, useVersionedApp, withIncrements } from '../../support/versioned-app.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
/** Backs up two versions. */
const backUpTwice = prepareOnce(world, database, async (env: Record<string, string>) => {
  await world.backUpFirst(env);
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  await world.backUp(env);
});
/** Backs up two versions, the second after a force push. Returns the refs of the first. */
const backUpRewritten = prepareOnce(world, database, async (env: Record<string, string>) => {
  await world.backUpFirst(env);
  const before = await refsOf(world.app.path);
  await world.forcePush();
  await world.backUp(env);
  return before;
});

describe('a damaged archive', () => {
  it('is rewritten from the mirror, with all versions', async () => {
    const before = await backUpRewritten({});
    await truncate(join(world.archives, 'local__app.bundle'), 100);
    await world.app.commit({ 'b.txt': 'three' }, 'three');
    const { code, stderr } = await world.backUp();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('from the mirror'),
    });
    expect(await world.restore(1)).toEqual(before);
  });

  it('is set aside if there is no mirror, and the run fails', async () => {
    await world.backUpFirst();
    await truncate(join(world.archives, 'local__app.bundle'), 100);
    await rm(`${world.archives}-data`, { recursive: true });
    const { code, stderr } = await world.backUp();
    expect(code).toBe(1);
    expect(stderr).toMatch(/is set aside as local__app\.bundle\.damaged-/);
    expect((await readdir(world.archives)).some((name) => name.includes('.damaged-'))).toBe(true);
    expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
    expect((await world.backUp()).code).toBe(0);
  });

  it('is detected when an increment is missing', async () => {
    await backUpTwice(withIncrements);
    await rm(join(world.archives, 'local__app.1.bundle'));
    expect((await world.backUp(withIncrements)).stderr).toContain('local__app.1.bundle is missing');
    expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
  });
});

it('a run rebuilds a damaged mirror', async () => {
  await world.backUpFirst();
  const objects = join(`${world.archives}-data`, 'mirrors', 'local__app.git', 'objects', 'pack');
  for (const name of await readdir(objects)) {
    if (name.endsWith('.pack')) await truncate(join(objects, name), 20);
  }
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  expect(await world.backUp()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is being rebuilt'),
  });
  expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
});

it('a run finishes what a killed run began: the note was written, but not the bundle', async () => {
  await world.backUpFirst();
  const before = await refsOf(world.app.path);
  await copyFile(join(world.archives, 'local__app.bundle'), join(world.folder, 'first.bundle'));
  await world.forcePush();
  await world.backUp();
  const path = join(world.archives, 'local__app.bundle.json');
  const note = JSON.parse(await readFile(path, 'utf8'));
  await copyFile(join(world.folder, 'first.bundle'), join(world.archives, 'local__app.bundle'));
  const { size, mtimeMs } = await stat(join(world.archives, 'local__app.bundle'));
  const [first] = note.versions;
  note.replacing = {
    sha256: first.sha256 ?? null,
    size_bytes: size,
    modified_ms: Math.floor(mtimeMs),
    versions: [first],
  };
  await writeFile(path, JSON.stringify(note));
  // The killed run had not recorded it.
  await database.db.query({ text: 'DELETE FROM archive_versions WHERE version = 2' });
  expect((await world.backUp()).code).toBe(0);
  const { versions } = await world.readNote();
  expect(versions.map(({ version }) => version)).toEqual([1, 3]);
  expect(await world.restore(1)).toEqual(before);
  expect(await world.restore(3)).toEqual(await refsOf(world.app.path));
});

describe('bit rot that leaves size and time unchanged', () => {
  async function flipBytes(name: string): Promise<void> {
    const path = join(world.archives, name);
    const { atimeMs, mtimeMs } = await stat(path);
    const bytes = await readFile(path);
    bytes.fill(bytes[bytes.length - 30] === 7 ? 8 : 7, bytes.length - 30, bytes.length - 26);
    await writeFile(path, bytes);
    await utimes(path, atimeMs / 1_000, mtimeMs / 1_000);
  }
  const tomorrow = () => ({ ...systemClock, now: () => Date.now() + 24 * 60 * 60_000 });
  const again = (env = {}) => {
    const args = ['run', '--source', world.app.path];
    return callWorker({
      databaseUrl: database.url,
      archives: world.archives,
      args,
      env,
      clock: tomorrow(),
    });
  };

  it.each([
    ['a full bundle', {}, 'local__app.bundle'],
    ['an increment', withIncrements, 'local__app.1.bundle'],
  ])('is found in %s, and the archive is rewritten from the mirror', async (_, env, name) => {
    const before = await backUpRewritten(env);
    await flipBytes(name);
    expect((await world.backUp(env)).stdout).toContain('1 unchanged');
    const { code, stdout, stderr } = await again(env);
    expect(stderr).toContain(`error: the archive is damaged: ${name} was changed`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
    expect(await world.restore(1)).toEqual(before);
    expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
    expect((await world.readNote()).versions).toHaveLength(2);
  });

  it('fails the repository if there is no mirror', async () => {
    await world.backUpFirst();
    await flipBytes('local__app.bundle');
    await rm(`${world.archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await again();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is set aside') });
  });

  it('fails its repository even if this run does not back it up', async () => {
    await world.backUpFirst();
    await flipBytes('local__app.bundle');
    const other = await createRepository(join(world.folder, 'other'));
    await other.commit({ 'b.txt': 'b' });
    const args = ['run', '--source', other.path];
    const { code, stdout } = await callWorker({
      databaseUrl: database.url,
      archives: world.archives,
      args,
      clock: tomorrow(),
    });
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining(
        'Failed, the archive was damaged, altered or lost: local/app',
      ),
    });
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

describe('an archive without its note or full bundle', () => {
  const note = 'local__app.bundle.json';
  const bundle = 'local__app.bundle';
  it.each<[string, Record<string, string>, string[], { hasMirror: boolean; newest: number }]>([
    ['its note', {}, [note], { hasMirror: true, newest: 2 }],
    ['its note, but has increments', withIncrements, [note], { hasMirror: true, newest: 2 }],
    ['its full bundle', {}, [bundle], { hasMirror: true, newest: 3 }],
    [
      'its full bundle, but has increments',
      withIncrements,
      [bundle],
      { hasMirror: true, newest: 3 },
    ],
    ['both', withIncrements, [note, bundle], { hasMirror: true, newest: 3 }],
    ['its note and the mirror', withIncrements, [note], { hasMirror: false, newest: 2 }],
  ])('is rewritten with all versions if it lacks %s', async (_, env, missing, expected) => {
    const { hasMirror, newest } = expected;
    const before = await backUpRewritten(env);
    for (const name of missing) await rm(join(world.archives, name));
    if (!hasMirror) await rm(`${world.archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await world.backUp(env);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('being rewritten'),
    });
    const { versions } = await world.readNote();
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3].slice(0, newest));
    expect(await world.restore(1)).toEqual(before);
    expect(await world.restore(newest)).toEqual(await refsOf(world.app.path));
    expect((await world.backUp(env)).stdout).toContain('1 unchanged');
  });

  it('is created anew, and the run fails once, if its content exists nowhere else', async () => {
    await world.backUpFirst();
    await rm(join(world.archives, 'local__app.bundle'));
    await rm(`${world.archives}-data/mirrors`, { recursive: true });
    const { code, stderr } = await world.backUp();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        'the one before is missing, along with the version that was recorded',
      ),
    });
    expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
    expect((await world.backUp()).code).toBe(0);
  });
});

it('a run rebuilds a mirror whose refs cannot be read', async () => {
  await world.backUpFirst();
  const packed = join(`${world.archives}-data`, 'mirrors', 'local__app.git', 'packed-refs');
  await truncate(packed, 70);
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  expect((await world.backUp()).code).toBe(0);
  expect(await world.restore(2)).toEqual(await refsOf(world.app.path));
});

describe('the run after a killed worker', () => {
  const recorded = () =>
    rowsOf<{ version: number; pruned: boolean }>(
      database.db,
      `SELECT version, pruned_at IS NOT NULL AS pruned FROM archive_versions
       WHERE repo_full_name = 'local/app' ORDER BY version`,
    );
  const [first, second] = [1, 2].map((version) => ({ version, pruned: false }));

  it('records a version that the killed worker had made', async () => {
    await backUpTwice({});
    await database.db.query({
      text: "DELETE FROM archive_versions WHERE repo_full_name = 'local/app' AND version = 2",
    });
    expect((await world.backUp()).stdout).toContain('1 unchanged');
    expect(await recorded()).toEqual([first, second]);
  });

  it('records that the killed worker had pruned a version', async () => {
    await backUpTwice({});
    const path = join(world.archives, 'local__app.bundle.json');
    const note = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...note, versions: note.versions.slice(1) }));
    const { stdout, stderr } = await world.backUp();
    expect(stdout).toContain('1 unchanged');
    expect(stderr).toContain('versions that are no longer in the archive: 1');
    expect(await recorded()).toEqual([{ version: 1, pruned: true }, second]);
    expect((await world.backUp()).stderr).not.toContain('no longer in the archive');
  });

  it('leaves the records alone if there is no archive', async () => {
    await world.backUpFirst();
    await rename(world.archives, `${world.archives}-away`);
    await mkdir(world.archives);
    await rename(world.app.path, `${world.app.path}-away`);
    expect((await world.backUp()).code).toBe(1);
    expect(await recorded()).toEqual([first]);
  });
});

it('a run that lost the note, and with it the warnings, prunes no version', async () => {
  const env = { BACKUP_KEEP: '1 monthly' };
  await world.backUp(env);
  const before = await refsOf(world.app.path);
  await world.forcePush();
  await world.backUp(env);
  await truncate(join(world.archives, 'local__app.bundle.json'), 0);
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  await world.backUp(env);
  await world.app.commit({ 'b.txt': 'four' }, 'four');
  await world.backUp(env);
  const { versions } = await world.readNote();
  expect(versions.map(({ version }) => version)).toEqual(expect.arrayContaining([1, 2]));
  expect(await world.restore(1)).toEqual(before);
});

describe('an archive folder that is not mounted', () => {
  it('is not mistaken for a first backup: the run fails, and the versions keep their numbers', async () => {
    await backUpTwice({});
    await rename(world.archives, `${world.archives}-away`);
    await mkdir(world.archives);
    const { code, stderr } = await world.backUp();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        'the one before is missing, along with the 2 versions that were recorded: is BACKUP_ARCHIVE_PATH the right folder, and mounted?',
      ),
    });
    expect((await world.readNote()).versions.map(({ version }) => version)).toEqual([3]);
    expect((await world.backUp()).code).toBe(0);
  });

  it('is not mistaken for a first backup even if there is no mirror', async () => {
    await world.backUpFirst();
    await rename(world.archives, `${world.archives}-away`);
    await mkdir(world.archives);
    await rm(`${world.archives}-data`, { recursive: true });
    expect(await world.backUp()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('with the version that was recorded'),
    });
  });
});

it('a run fails while a manifest is missing, even if the repository changes', async () => {
  await backUpTwice(withIncrements);
  const path = join(world.archives, 'local__app.versions', '1.json');
  await rename(path, `${path}.away`);
  await world.app.commit({ 'b.txt': 'four' }, 'four');
  for (const what of ['changed', 'unchanged']) {
    const { code, stderr } = await world.backUp(withIncrements);
    expect({ what, code, stderr }).toEqual({
      ...{ what, code: 1 },
      stderr: expect.stringContaining('the manifest of version 1 is missing or was altered'),
    });
  }
  await rename(`${path}.away`, path);
  expect((await world.backUp(withIncrements)).code).toBe(0);
});
