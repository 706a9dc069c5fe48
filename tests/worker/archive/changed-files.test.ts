import { copyFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { flipByte } from '../../support/chains.ts';
import { createClient } from '../../support/client.ts';
import { createTestClock } from '../../support/clock.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { prepareOnce } from '../../support/prepare-once.ts';
import { refsOf, useVersionedApp, withIncrements } from '../../support/versioned-app.ts';
import { callWorker, rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);
const noReread = { VERIFY_BUDGET_MINUTES: '0' };
const note = 'local__app.bundle.json';
const manifest = (version: number) => `local__app.versions/${version}.json`;
const at = (name: string) => join(world.archives, name);
const older = () => join(world.folder, 'older');

/** Backs up two versions, and keeps copies of the note after the first, and of its manifest. */
const backUpTwice = prepareOnce(world, database, async (env: Record<string, string>) => {
  await world.backUpFirst(env);
  await copyFile(at(note), `${older()}-note`);
  await world.app.commit({ 'b.txt': 'two' }, 'two');
  await world.backUp(env);
});

/** A run that does not back up the repository. */
async function runElsewhere(env: Record<string, string> = noReread) {
  const other = await createRepository(join(world.folder, 'other'));
  await other.commit({ 'b.txt': 'b' });
  const { archives } = world;
  return callWorker({
    ...{ databaseUrl: database.url, archives, env },
    args: ['run', '--source', other.path],
  });
}

const client = () => createClient({ db: database.db, clock: createTestClock(Date.now()) });
const shown = async () => (await client().get('/api/repos/local/app')).body;
const anomalies = () => rowsOf(database.db, 'SELECT kind FROM anomalies');
const versions = async () => (await world.readNote()).versions.map(({ version }) => version);

/** Puts another file in place, with the time of that file. */
async function replace(name: string, by: string): Promise<void> {
  const { atime, mtime } = await stat(by);
  await copyFile(by, at(name));
  await utimes(at(name), atime, mtime);
}

beforeEach(() => backUpTwice({}));

describe('a run that does not back up the repository', () => {
  it.each<[string, () => Promise<void>, string]>([
    ['the note is missing', () => rm(at(note)), `${note} is missing`],
    ['the note is empty', () => writeFile(at(note), ''), `${note} is not a valid note`],
    [
      'the note is an older copy of itself',
      () => replace(note, `${older()}-note`),
      `${note} was replaced by another one, which does not have version 2`,
    ],
    [
      'the manifest of the newest version is another one',
      () => replace(manifest(2), at(manifest(1))),
      `${manifest(2)} was changed`,
    ],
    [
      'the manifest of an older version is another one',
      () => replace(manifest(1), at(manifest(2))),
      `${manifest(1)} was changed`,
    ],
    ['the manifest of an older version is missing', () => rm(at(manifest(1))), 'is missing'],
    ['a manifest was cut off', () => writeFile(at(manifest(2)), '{'), `${manifest(2)} was changed`],
  ])('says that %s', async (_, change, reason) => {
    await change();
    const { code, stdout, stderr } = await runElsewhere();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(reason) });
    expect(stdout).toContain('1 archive of other repositories lost');
    expect(await shown()).toMatchObject({ state: 'gone', archive: { state: 'incomplete' } });
  });

  it('says nothing of a copied folder, and of a manifest that only was touched', async () => {
    for (const name of [manifest(1), manifest(2), 'local__app.bundle', note]) {
      await utimes(at(name), 1_000_000, 1_000_000);
    }
    expect(await runElsewhere()).toMatchObject({ code: 0 });
    expect((await runElsewhere({})).stderr).toContain('archive reread, 0 damaged');
    expect((await stat(at(manifest(2)))).mtimeMs).not.toBe(1_000_000_000);
  });
});

describe('a run that backs up the repository', () => {
  it.each<[string, () => Promise<void>]>([
    ['missing', () => rm(at(note))],
    ['an older copy of itself', () => replace(note, `${older()}-note`)],
  ])(
    'writes a note again that is %s, and calls that no change of the source',
    async (_, change) => {
      const refs = await refsOf(world.app.path);
      await change();
      const { code, stderr } = await world.backUp(noReread);
      expect(code).toBe(0);
      expect(stderr).toContain('the note of its archive is missing or was replaced, fetching');
      expect(stderr).toContain(`error: the archive is gone or not whole: ${note}`);
      expect(stderr).not.toContain('no longer in the archive');
      expect(await versions()).toEqual([1, 2]);
      expect(await world.restore(2)).toEqual(refs);
      const next = await world.backUp(noReread);
      expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining('1 unchanged') });
      expect(await anomalies()).toEqual([]);
      expect(await shown()).toMatchObject({ state: 'good', archive: { state: 'there' } });
    },
  );

  it('fails once if a version was lost with its note and its manifest, and keeps the others', async () => {
    await replace(note, `${older()}-note`);
    await rm(at(manifest(2)));
    const { code, stderr } = await world.backUp(noReread);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('neither its note nor the manifest of version 2'),
    });
    expect(await versions()).toEqual([1, 3]);
    expect(await world.restore(3)).toEqual(await refsOf(world.app.path));
    expect(await world.backUp(noReread)).toMatchObject({ code: 0 });
    expect(
      await rowsOf(database.db, 'SELECT version FROM archive_versions WHERE pruned_at IS NULL'),
    ).toHaveLength(2);
  });

  it('sets a bundle aside that neither a note nor a manifest describes, and fails once', async () => {
    await rm(at(note));
    await rm(at('local__app.versions'), { recursive: true });
    const { code, stderr } = await world.backUp(noReread);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('is set aside as'),
    });
    expect(await versions()).toEqual([3]);
    expect(await world.backUp(noReread)).toMatchObject({ code: 0 });
  });

  it('keeps the warning of a version whose note was lost, and its confirmation', async () => {
    await world.forcePush();
    await world.backUp(noReread);
    expect(await anomalies()).not.toEqual([]);
    const before = (await world.readNote()).versions;
    await database.db.query({ text: 'UPDATE anomalies SET confirmed_at = now()' });
    await rm(at(note));
    expect(await world.backUp(noReread)).toMatchObject({ code: 0 });
    expect((await world.readNote()).versions).toEqual(before.map((one) => ({ ...one, files: 1 })));
  });
});

it('an increment that was changed, but not in size, is read again at once', async () => {
  await world.app.commit({ 'b.txt': 'three' }, 'three');
  await world.backUp(withIncrements);
  const increment = at('local__app.1.bundle');
  await flipByte(increment);
  const { code, stderr } = await runElsewhere({});
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('local__app.1.bundle was changed since it was written'),
  });
});
