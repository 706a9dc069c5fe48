import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { prepareOnce } from '../../support/prepare-once.ts';
import { refsOf, useVersionedApp, withIncrements } from '../../support/versioned-app.ts';
import { callWorker } from '../../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);

/** The refs of each version, from the first. */
let history: string[][];
/** The increment that is lost, and a copy of it. */
const lost = () => join(world.archives, 'local__app.2.bundle');
const copy = () => join(world.folder, 'copy');

async function backUp() {
  const ran = await world.backUp(withIncrements);
  history.push(await refsOf(world.app.path));
  return ran;
}

const call = (...args: string[]) =>
  callWorker({ databaseUrl: database.url, archives: world.archives, args });

// Version 3 needs the lost increment. Without it and the mirror, the archive is set aside.
const loseIncrement = prepareOnce(world, database, async () => {
  history = [];
  await backUp();
  for (const text of ['three', 'four', 'five']) {
    await world.app.commit({ 'b.txt': text }, text);
    await backUp();
  }
  await copyFile(lost(), copy());
  await rm(lost());
  await rm(`${world.archives}-data/mirrors`, { recursive: true });
  expect((await backUp()).code).toBe(1);
  return history;
});
beforeEach(async () => {
  history = [...(await loseIncrement())];
});

async function nameOf(): Promise<string> {
  const [, time = ''] =
    /bundle\.(damaged-\d{8}T\d{6}Z)\.json/.exec((await readdir(world.archives)).join('\n')) ?? [];
  return `local/app@${time}`;
}

describe('an archive that was set aside', () => {
  it('is listed beside the new one, in JSON too', async () => {
    const name = await nameOf();
    const { stdout } = await call('versions');
    expect(stdout).toMatch(/^local\/app +1 /m);
    expect(stdout).toMatch(new RegExp(`^${name} +4 `, 'm'));
    expect(stdout).toContain('were set aside for new ones');
    expect(JSON.parse((await call('versions', '--json')).stdout)).toMatchObject([
      { repository: 'local/app', is_set_aside: false, versions: 1 },
      { repository: name, is_set_aside: true, versions: 4 },
    ]);
    expect((await call('versions', 'local/app')).stdout).toContain(`Set aside: ${name}\n`);
    expect(JSON.parse((await call('versions', 'local/app', '--json')).stdout)).toMatchObject({
      set_aside: [name],
      versions: [{ version: 5 }],
    });
    expect((await call('versions', name)).stdout).toMatch(/^4 /m);
  });

  it('restores its intact versions, and all of them once the lost file is back', async () => {
    const name = await nameOf();
    const restore = async (version: number) => {
      const to = join(world.folder, `restored-${version}`);
      const number = `${version}`;
      const ran = await call('restore', name, '--version', number, '--bare', '--to', to);
      expect(ran.code, ran.stderr).toBe(0);
      return refsOf(to);
    };
    expect(await restore(2)).toEqual(history[1]);
    await expect(restore(4)).rejects.toThrow('local__app.2.bundle, which continues it, is missing');
    // The new archive uses other increment numbers, so that the lost file can be put back.
    await world.app.commit({ 'b.txt': 'six' }, 'six');
    expect((await backUp()).code).toBe(0);
    expect(await readdir(world.archives)).toContain('local__app.4.bundle');
    await rename(copy(), lost());
    expect(await restore(4)).toEqual(history[3]);
    expect(await world.restore(6)).toEqual(history[5]);
  });

  it('is left out by restore --all', async () => {
    const to = join(world.folder, 'all');
    const { code, stdout } = await call('restore', '--all', '--bare', '--to', to);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('Restored 1 of 1 repositories'),
    });
    expect(await git(join(to, 'local', 'app'), 'rev-parse', 'main')).toBe(
      await world.app.git('rev-parse', 'main'),
    );
  });
});
