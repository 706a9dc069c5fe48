import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_VERSIONS, parseNote } from '../../lib/archives/base/note.ts';
import { systemClock } from '../../lib/clock.ts';
import { flipByte } from '../support/chains.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, git, type TestRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { prepareOnce } from '../support/prepare-once.ts';
import { callWorker } from '../support/worker.ts';

// Whatever happens to files between two runs, and whatever refs look like our own: every version listed after a
// successful run can be restored.

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');
const mirror = join(`${archives}-data`, 'mirrors', 'local__app.git');
let app: TestRepository;
const increments = { BACKUP_INCREMENTS_FROM_MIB: '0' };
const key = 'local__app.bundle';

beforeEach(async () => {
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'one', noise: randomBytes(20_000).toString('hex') }, 'one');
});

const call = (args: string[], env: Record<string, string> = {}) =>
  callWorker({ databaseUrl: database.url, archives, args, env });
const backUp = (env: Record<string, string> = {}) => call(['run', '--source', app.path], env);
const world = { folders: [folder] };
const backUpFirst = prepareOnce(world, database, backUp);
const backUpTwice = prepareOnce(world, database, async (...env: Parameters<typeof backUp>) => {
  await backUpFirst(...env);
  await change();
  await backUp(...env);
});

async function change(): Promise<void> {
  await app.commit({ 'b.txt': randomBytes(20).toString('hex') });
}

async function versions() {
  const note = parseNote(await readFile(join(archives, `${key}.json`), 'utf8'));
  return note?.versions ?? [];
}

/** Restores every listed version, and returns their numbers. */
async function restoreAll(): Promise<number[]> {
  const numbers = (await versions()).map(({ version }) => version);
  for (const number of numbers) {
    const to = join(folder, 'restored', randomBytes(4).toString('hex'));
    const { code, stderr } = await call(
      ['restore', 'local/app', '--version', `${number}`, '--to', to],
      {},
    );
    expect({ number, code, stderr }).toMatchObject({ number, code: 0 });
  }
  return numbers;
}

describe('an archive with increments that differs from its note', () => {
  const backUpThrice = prepareOnce(world, database, async () => {
    for (let run = 0; run < 3; run++) {
      expect((await backUp(increments)).code).toBe(0);
      await change();
    }
  });
  beforeEach(() => backUpThrice());

  it('is not appended to if its full bundle was cut short', async () => {
    const { size } = await stat(join(archives, key));
    await truncate(join(archives, key), size - 1_000);
    expect((await backUp(increments)).stderr).toContain('not the one that was recorded');
    expect(await restoreAll()).toEqual([1, 2, 3, 4]);
  });

  it('is not appended to if an increment in the middle is missing', async () => {
    await rm(join(archives, 'local__app.1.bundle'));
    expect((await backUp(increments)).stderr).toContain('not the one that was recorded');
    expect(await restoreAll()).toEqual([1, 2, 3, 4]);
  });
});

it('an archive that a wrong clock checked in the future is read again', async () => {
  await backUpFirst();
  const note = join(archives, `${key}.json`);
  const { checked_at, ...record } = JSON.parse(await readFile(note, 'utf8'));
  expect(checked_at).not.toBeUndefined();
  const { atime, mtime } = await stat(join(archives, key));
  await flipByte(join(archives, key));
  await utimes(join(archives, key), atime, mtime);
  const tomorrow = new Date(Date.now() + 24 * 60 * 60_000).toISOString();
  await writeFile(note, JSON.stringify({ ...record, checked_at: tomorrow }));
  const { stderr } = await backUp();
  expect(stderr).toContain(`${key} was changed since it was written`);
});

it('an archive is not rewritten from a mirror that lacks its older versions', async () => {
  // With a parent, the rewritten commit shares everything except itself with the archive.
  await change();
  await backUp(increments);
  const first = await app.git('rev-parse', 'HEAD');
  await app.git('commit', '--quiet', '--amend', '--message', 'rewritten');
  await backUp(increments);
  // The newest version needs nothing from the increment that will be missing.
  await app.git('reset', '--quiet', '--hard', first);
  await backUp(increments);
  await rm(mirror, { recursive: true });
  await rm(join(archives, 'local__app.1.bundle'));
  await change();
  const { code, stderr } = await backUp(increments);
  expect(code).toBe(1);
  expect(stderr).toContain('is set aside as');
  await restoreAll();
});

it('damage in the mirror is not copied into the archive', async () => {
  await backUpTwice();
  const packs = join(mirror, 'objects', 'pack');
  for (const name of await readdir(packs)) {
    if (!name.endsWith('.pack')) continue;
    const bytes = await readFile(join(packs, name));
    if (bytes.length < 10_000) continue;
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 0xff;
    await rm(join(packs, name));
    await writeFile(join(packs, name), bytes);
  }
  await change();
  const { code, stderr } = await backUp();
  expect(code).toBe(1);
  expect(stderr).toContain('is damaged, and nothing is written from it');
  expect(await restoreAll()).toEqual([1, 2]);
  await rm(mirror, { recursive: true });
  expect((await backUp()).code).toBe(0);
  expect(await restoreAll()).toEqual([1, 2, 3]);
});

it('an archive with the name of a long-gone increment is not deleted', async () => {
  await backUpTwice(increments);
  await change();
  await backUp();
  expect(await readdir(archives)).not.toContain('local__app.1.bundle');
  const other = await createRepository(join(folder, 'app.1'));
  await other.commit({ 'c.txt': 'of another repository' });
  await call(['run', '--source', other.path]);
  await utimes(join(archives, key), 1, 1);
  expect((await backUp()).code).toBe(0);
  expect(await readdir(archives)).toContain('local__app.1.bundle');
});

it('a note that could not be read again is not written', async () => {
  await backUpFirst();
  const path = join(archives, `${key}.json`);
  const note = JSON.parse(await readFile(path, 'utf8'));
  note.versions = Array.from({ length: MAX_VERSIONS }, (_, index) => ({
    ...note.versions[0],
    version: index + 1,
    warning: 'the history of main was rewritten',
  }));
  await writeFile(path, JSON.stringify(note));
  await change();
  const { code, stderr } = await backUp();
  expect(code).toBe(1);
  expect(stderr).toContain('has 5000 versions');
  expect(await versions()).toHaveLength(MAX_VERSIONS);
});

describe('a run with odd refs', () => {
  it('keeps both HEAD and a ref of that name', async () => {
    await app.git('checkout', '--quiet', '--detach');
    await app.commit({ 'b.txt': 'of HEAD' });
    await app.git(
      'update-ref',
      'refs/HEAD',
      await app.git('commit-tree', '-m', 'x', 'HEAD^{tree}'),
    );
    await backUp();
    await app.git('update-ref', '-d', 'refs/HEAD');
    await app.git('checkout', '--quiet', 'main');
    await backUp();
    await rm(mirror, { recursive: true });
    await change();
    expect((await backUp()).code).toBe(0);
    expect(await restoreAll()).toEqual([1, 2, 3]);
  });

  it('leaves room for kept refs if a source has a ref refs/kept', async () => {
    await app.git('update-ref', 'refs/kept', 'HEAD');
    await change();
    await backUp();
    await app.git('commit', '--quiet', '--amend', '--message', 'rewritten');
    await backUp();
    await git(folder, 'clone', '--quiet', '--mirror', join(archives, key), 'alone.git');
    const refs = await git(join(folder, 'alone.git'), 'for-each-ref', '--format=%(refname)');
    expect(refs.split('\n')).toEqual([
      'refs/heads/main',
      'refs/kept/1-head',
      'refs/kept/1/heads/main',
      'refs/kept/source',
    ]);
    expect(await restoreAll()).toEqual([1, 2]);
  });

  it('treats a HEAD on a tag as detached', async () => {
    await app.git('tag', 'v1');
    await app.git('symbolic-ref', 'HEAD', 'refs/tags/v1');
    await backUp();
    expect((await backUp()).stdout).toContain('1 unchanged');
    await app.git('update-ref', 'refs/heads/other', 'refs/tags/v1');
    expect((await backUp()).code).toBe(0);
    expect(await restoreAll()).toEqual([1, 2]);
  });

  it('counts commits that only a detached HEAD reaches', async () => {
    await app.git('checkout', '--quiet', '--detach');
    await app.git('branch', '-D', 'main');
    await backUp();
    await change();
    expect((await backUp()).stderr).not.toContain('shrank');
    const note = JSON.parse(await readFile(join(archives, `${key}.json`), 'utf8'));
    expect(note.figures.total_commits).toBe(2);
  });
});

it("a run does not depend on the user's default name for remotes", async () => {
  const settings = join(folder, 'gitconfig');
  await writeFile(settings, '[clone]\n\tdefaultRemoteName = upstream\n');
  expect((await backUp({ GIT_CONFIG_GLOBAL: settings })).code).toBe(0);
});

describe('an altered manifest', () => {
  const tomorrow = { ...systemClock, now: () => Date.now() + 24 * 60 * 60_000 };
  const again = () =>
    callWorker({
      databaseUrl: database.url,
      archives,
      args: ['run', '--source', app.path],
      clock: tomorrow,
    });

  it.each([
    ['in its content', (path: string) => truncate(path, 10)],
    ['away', (path: string) => rm(path)],
  ])('%s fails its repository until it is put back', async (_, alter) => {
    await backUpTwice();
    const path = join(archives, 'local__app.versions', '1.json');
    const text = await readFile(path);
    await alter(path);
    const { code, stderr } = await again();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('the manifest of version 1 is missing or was altered'),
    });
    await writeFile(path, text);
    expect((await again()).code).toBe(0);
  });
});

describe('a possible last copy', () => {
  const mirrors = async () => (await readdir(join(mirror, '..'))).sort();

  it('is set aside if it is an unreadable mirror and there is no archive', async () => {
    await backUpFirst();
    await rm(archives, { recursive: true });
    await writeFile(join(mirror, 'HEAD'), 'nothing');
    const { stderr } = await backUp();
    expect(stderr).toContain('error: the mirror cannot be read, and there is no archive');
    expect(await mirrors()).toEqual(['local__app.git', 'local__app.git.damaged-1']);
  });

  it('is deleted once the archive has everything again', async () => {
    await backUpFirst();
    await writeFile(join(mirror, 'HEAD'), 'nothing');
    await change();
    expect((await backUp()).code).toBe(0);
    expect(await mirrors()).toEqual(['local__app.git']);
    expect(await restoreAll()).toEqual([1, 2]);
  });

  it('is set aside with its note if it is a damaged archive', async () => {
    await backUpFirst();
    await truncate(join(archives, key), 100);
    await rm(mirror, { recursive: true });
    expect((await backUp()).code).toBe(1);
    const names = (await readdir(archives)).filter((name) => name.includes('.damaged-'));
    expect(names.sort()).toEqual([
      expect.stringMatching(/^local__app\.bundle\.damaged-\w+$/),
      expect.stringMatching(/^local__app\.bundle\.damaged-\w+\.json$/),
    ]);
  });
});
