import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { useVersionedApp } from '../support/versioned-app.ts';
import { callWorker } from '../support/worker.ts';

const database = useDatabase();
const world = useVersionedApp(database);

/** Restores the newest version, and returns the branch of its HEAD. */
async function restoredHead(): Promise<string> {
  const target = join(world.folder, 'restored');
  const { code, stdout } = await callWorker({
    databaseUrl: database.url,
    archives: world.archives,
    args: ['restore', 'local/app', '--to', target],
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('2 branches') });
  return git(target, 'symbolic-ref', 'HEAD');
}

it('HEAD on a branch that does not exist is restored on that branch', async () => {
  await world.app.git('symbolic-ref', 'HEAD', 'refs/heads/not/yet');
  await world.backUp();
  expect(await restoredHead()).toBe('refs/heads/not/yet');
});

it('a HEAD that moves from one missing branch to another is a new version', async () => {
  await world.backUp();
  for (const branch of ['one', 'two']) {
    await world.app.git('symbolic-ref', 'HEAD', `refs/heads/${branch}`);
    expect((await world.backUp()).stdout).toContain('1 backed up');
    expect((await world.backUp()).stdout).toContain('1 unchanged');
  }
  expect((await world.readNote()).versions).toHaveLength(3);
  expect(await restoredHead()).toBe('refs/heads/two');
});

it('the HEAD of an archive that does not record its branch is on no branch of the source', async () => {
  await world.app.git('symbolic-ref', 'HEAD', 'refs/heads/missing');
  await world.backUp();
  const note = join(world.archives, 'local__app.bundle.json');
  const parsed = JSON.parse(await readFile(note, 'utf8'));
  await writeFile(note, JSON.stringify({ ...parsed, versions: [] }));
  expect(await restoredHead()).toBe('refs/heads/head-was-not-recorded');
});
