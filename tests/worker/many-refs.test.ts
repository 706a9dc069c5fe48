import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/hooks.ts';
import { refsOf, useVersionedApp } from '../support/versioned-app.ts';
import { callWorker } from '../support/worker.ts';

// Above a thousand refs, git does not change each of them: their file is rewritten.

const database = useDatabase();
const world = useVersionedApp(database);

const COUNT = 1_100;

/** Adds many branches to the source, each with its own commit. */
async function addBranches() {
  const commits = Array.from({ length: COUNT }, (_, number) => {
    const author = `ada <ada@example.org> ${1_700_000_000 + number} +0000`;
    return `commit refs/heads/many/${number}\ncommitter ${author}\ndata 1\nx\nfrom refs/heads/main\n\n`;
  });
  await execa('git', ['fast-import', '--quiet'], { cwd: world.app.path, input: commits.join('') });
}

it('an archive keeps the commits of many deleted branches, and the other branches', async () => {
  await addBranches();
  await world.backUp();
  const before = await refsOf(world.app.path);
  expect(before).toHaveLength(COUNT + 2);
  const names = Array.from({ length: COUNT }, (_, number) => `delete refs/heads/many/${number}\n`);
  const input = names.join('');
  await execa('git', ['update-ref', '--stdin'], { cwd: world.app.path, input });
  const { code, stderr } = await world.backUp();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining(`deleted at the source, kept here: refs/heads/many/0 and`),
  });
  const mirror = await refsOf(join(`${world.archives}-data`, 'mirrors', 'local__app.git'));
  expect(mirror.filter((ref) => ref.includes(' refs/source/heads/'))).toHaveLength(2);
  expect(mirror.filter((ref) => ref.includes(' refs/kept/1/heads/many/'))).toHaveLength(COUNT);
  const restore = async (version: string) => {
    const to = join(world.folder, `restored-${version}`);
    const args = ['restore', 'local/app', '--version', version, '--bare', '--to', to];
    await callWorker({ databaseUrl: database.url, archives: world.archives, args });
    return refsOf(to);
  };
  expect(await restore('1')).toEqual(before);
  expect(await restore('2')).toEqual(await refsOf(world.app.path));
  expect((await world.backUp()).stdout).toContain('1 unchanged');
});
