import { copyFile, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { plantStuckFolder } from '../support/stuck-folder.ts';
import { refsOf, useVersionedApp, withIncrements } from '../support/versioned-app.ts';

// What runs that were killed leave of an archive, and no note lists.

const database = useDatabase();
const world = useVersionedApp(database);

const pathOf = (number: number) => join(world.archives, `local__app.${number}.bundle`);
const increments = async () =>
  (await readdir(world.archives)).filter((name) => /^local__app\.\d+\.bundle$/.test(name)).sort();

let count = 0;
async function change() {
  await world.app.commit({ 'b.txt': `${count++}` }, 'change');
  const ran = await world.backUp(withIncrements);
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

const age = async (number: number, hours: number) => {
  const time = new Date(Date.now() - hours * 60 * 60_000);
  await utimes(pathOf(number), time, time);
};

beforeEach(async () => {
  await world.backUp(withIncrements);
  await change();
});

it('deletes an increment that was not recorded, once it is a day old', async () => {
  // As if the run had been killed after it had published the increment.
  await copyFile(pathOf(1), pathOf(2));
  await change();
  await age(2, 23);
  await change();
  expect(await increments()).toEqual([1, 2, 3, 4].map((number) => `local__app.${number}.bundle`));
  await age(2, 25);
  await change();
  expect(await increments()).toEqual([1, 3, 4, 5].map((number) => `local__app.${number}.bundle`));
  for (const version of [1, 2, 3, 4, 5]) {
    expect(await world.restore(version)).toEqual(await world.refsOfVersion(version));
  }
});

it('deletes one also when the whole archive is written anew', async () => {
  await copyFile(pathOf(1), pathOf(2));
  await change();
  await age(2, 25);
  await world.app.commit({ 'b.txt': 'full' }, 'full');
  expect((await world.backUp()).code).toBe(0);
  expect(await increments()).toEqual([]);
});

it('warns of temporary folders that it cannot remove, and goes on', async () => {
  const name = `.scratch-${hostname()}-4194304-aaaaaa`;
  const stuck = await plantStuckFolder(join(world.archives, name));
  try {
    const { stderr } = await change();
    expect(stderr).toContain('1 folder left by a killed process cannot be removed');
  } finally {
    await stuck.remove();
  }
});

it('keeps what holds something else, and says so once', async () => {
  await world.app.git('checkout', '--quiet', '-b', 'lost');
  await world.app.commit({ 'c.txt': 'lost' }, 'lost');
  await git(world.app.path, 'bundle', 'create', '--quiet', pathOf(2), 'lost');
  await world.app.git('checkout', '--quiet', 'main');
  await world.app.git('branch', '--quiet', '-D', 'lost');
  await writeFile(pathOf(3), 'no bundle');
  await change();
  await age(2, 25);
  await age(3, 25);
  const { stderr } = await change();
  expect(stderr).toContain('local__app.2.bundle was left by a run that was killed');
  expect(stderr).toContain('local__app.3.bundle was left by a run that was killed');
  expect((await change()).stderr).not.toContain('was left by');
  expect(await increments()).toContain('local__app.2.bundle');
});

it.each(['local__app.2.bundle.json', 'local__app.2.versions'])(
  'keeps the archive of a repository with such a name, which has %s',
  async (beside) => {
    await copyFile(pathOf(1), pathOf(2));
    await writeFile(join(world.archives, beside), '{}');
    await change();
    await age(2, 25);
    expect((await change()).stderr).not.toContain('was left by');
    expect(await increments()).toContain('local__app.2.bundle');
  },
);

it('keeps what an archive that was set aside needs', async () => {
  await change();
  await rm(pathOf(1));
  await rm(`${world.archives}-data/mirrors`, { recursive: true });
  expect((await world.backUp(withIncrements)).code).toBe(1);
  // The number of the new archive is set back, as an earlier release did.
  const path = join(world.archives, 'local__app.bundle.json');
  const note = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...note, next_increment: 2 }));
  await change();
  await age(2, 25);
  expect((await change()).stderr).toContain('local__app.2.bundle was left by');
  expect(await increments()).toContain('local__app.2.bundle');
});

it('deletes increments whose deletion was interrupted', async () => {
  const copy = join(world.folder, 'copy');
  await copyFile(pathOf(1), copy);
  await world.app.commit({ 'b.txt': 'full' }, 'full');
  await world.backUp();
  expect(await increments()).toEqual([]);
  await copyFile(copy, pathOf(1));
  await change();
  expect(await increments()).toEqual(['local__app.2.bundle']);
  expect(await world.restore(4)).toEqual(await refsOf(world.app.path));
});
