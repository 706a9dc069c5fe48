import { copyFile, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { prepareOnce } from '../support/prepare-once.ts';
import { plantStuckFolder } from '../support/stuck-folder.ts';
import { refsOf, useVersionedApp, withIncrements } from '../support/versioned-app.ts';

// Files that killed runs leave beside an archive, and that no note lists.

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

const backUpTwice = prepareOnce(world, database, async () => {
  await world.backUp(withIncrements);
  await change();
});
beforeEach(() => backUpTwice());

it('a run skips an increment that was not recorded', async () => {
  // As if the run had been killed after publishing the increment.
  await copyFile(pathOf(1), pathOf(2));
  await change();
  expect(await increments()).toEqual([1, 2, 3].map((number) => `local__app.${number}.bundle`));
  for (const version of [1, 2, 3]) {
    expect(await world.restore(version)).toEqual(await world.refsOfVersion(version));
  }
});

it('a run warns about temporary folders that it cannot remove, and continues', async () => {
  const name = `.scratch-${hostname()}-4194304-aaaaaa`;
  const stuck = await plantStuckFolder(join(world.archives, name));
  try {
    const { stderr } = await change();
    expect(stderr).toContain('1 folder left by a killed process cannot be removed');
  } finally {
    await stuck.remove();
  }
});

it('a run deletes increments whose deletion was interrupted', async () => {
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
