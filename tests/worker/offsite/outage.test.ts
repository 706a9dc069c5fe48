import { mkdir, readdir, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.ts';
import { createTestClock } from '../../support/clock.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { createBare, createRepository, type TestRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { type AlertReceiver, listStored, startAlertReceiver } from '../../support/incidents.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
const NAMES = ['a', 'b', 'c'];
const TITLE = 'A destination does not accept archives';
let receiver: AlertReceiver;
let repositories: TestRepository[];

const create = async (name: string) => {
  const repository = await createRepository(join(bench.folder, name));
  await repository.commit({ 'a.txt': name });
  return repository;
};
beforeEach(async () => {
  receiver = await startAlertReceiver();
  repositories = [];
  for (const name of NAMES) repositories.push(await create(name));
});
afterEach(() => receiver.close());

const place = () => join(bench.folder, 'nas');
const takeAway = () => rename(place(), `${place()}-away`);
const bringBack = () => rename(`${place()}-away`, place());

const folder = {
  env: () => ({ BACKUP_STORES: `file://${place()}` }),
  address: () => `file://${place()}`,
  make: async () => void (await mkdir(place())),
};
const git = {
  env: () => ({ BACKUP_REPO_PATH: place() }),
  address: () => `git+file://${place()}`,
  make: async () => void (await createBare(place(), 'trunk')),
};

const backUp = (env: Record<string, string>, paths = repositories.map(({ path }) => path)) =>
  bench.run({
    databaseUrl: database.url,
    args: ['run', ...paths.flatMap((path) => ['--source', path])],
    env: { ALERT_CHANNELS: receiver.address(), ...env },
  });

interface Store {
  version: number | null;
  stored_at: string | null;
  failing_since: string | null;
  reason: string;
}

/** What the API reports about each repository and its store, by name. */
async function shown() {
  const client = createClient({ db: database.db, clock: createTestClock(Date.now()) });
  return Promise.all(
    NAMES.map(async (name) => {
      const { state } = (await client.get(`/api/repos/local/${name}`)).body as { state: string };
      const { body } = await client.get(`/api/repos/local/${name}/stores`);
      const [store] = (body as { data: Store[] }).data;
      return { state, ...store };
    }),
  );
}
const incident = async () =>
  (await listStored(database.db))
    .filter(({ rule }) => rule === 'destination_unreachable')
    .map(({ summary, is_open, repositories: concerned }) => ({ summary, is_open, concerned }));
const all = NAMES.map((name) => `local/${name}`);

describe.each([
  ['folder', folder],
  ['git repository', git],
])('a %s that was unreachable', (_, { env, address, make }) => {
  beforeEach(make);

  it('is good again after the next run, even if nothing changed', async () => {
    expect((await backUp(env())).code).toBe(0);
    const before = await shown();
    await takeAway();
    expect((await backUp(env())).code).toBe(1);
    expect(receiver.titles()).toEqual([TITLE]);
    const summary = `${address()} could not be reached for 3 repositories`;
    expect(await incident()).toEqual([{ summary, is_open: true, concerned: all }]);
    const failing = { state: 'failing', failing_since: expect.any(String) };
    for (const [index, one] of (await shown()).entries()) {
      expect(one).toMatchObject({ ...before[index], ...failing, reason: expect.any(String) });
      expect(one.reason).toContain('not reached: ');
      expect(one.reason).not.toContain('in this run');
    }
    await bringBack();
    expect((await backUp(env())).stdout).toContain('3 unchanged');
    expect(receiver.titles()).toEqual([TITLE, `Resolved: ${TITLE}`]);
    expect(await incident()).toEqual([{ summary, is_open: false, concerned: [] }]);
    expect(await shown()).toEqual(before);
    expect(before).toMatchObject(all.map(() => ({ state: 'good', version: 1, reason: '' })));
  });

  it('keeps failing if it comes back empty', async () => {
    await backUp(env());
    await takeAway();
    await backUp(env());
    const away = await shown();
    await make();
    expect((await backUp(env())).code).toBe(1);
    const since = away.map(({ failing_since }) => ({ state: 'failing', failing_since }));
    expect(await shown()).toMatchObject(since);
    expect(receiver.titles()).toEqual([TITLE]);
    await rm(place(), { recursive: true });
    await bringBack();
    expect((await backUp(env())).code).toBe(0);
    expect(receiver.titles()).toEqual([TITLE, `Resolved: ${TITLE}`]);
  });

  it('lacks what changed in the meantime, and nothing else', async () => {
    await backUp(env());
    await takeAway();
    await repositories[1]?.commit({ 'b.txt': 'new' });
    await backUp(env());
    expect(await incident()).toMatchObject([
      {
        summary: `${address()} lacks the newest archive of 1 repository, and could not be reached for 2 others`,
      },
    ]);
    await bringBack();
    expect((await backUp(env())).stdout).toContain('1 backed up, 2 unchanged');
    expect(await shown()).toMatchObject([1, 2, 1].map((version) => ({ version, state: 'good' })));
    expect(receiver.titles()).toEqual([TITLE, `Resolved: ${TITLE}`]);
  });
});

describe('a store folder that comes back', () => {
  beforeEach(folder.make);

  it('fails only for an archive that is damaged in it', async () => {
    await backUp(folder.env());
    await takeAway();
    await backUp(folder.env());
    await bringBack();
    const objects = join(place(), 'archives', 'local__b', 'objects');
    for (const name of await readdir(objects)) await truncate(join(objects, name), 1);
    expect((await backUp(folder.env())).code).toBe(1);
    expect(await shown()).toMatchObject([
      { state: 'good', failing_since: null },
      { state: 'failing', reason: expect.stringContaining('is damaged') },
      { state: 'good', failing_since: null },
    ]);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(await incident()).toEqual([
      {
        summary: `${folder.address()} lacks the newest archive of 1 repository`,
        is_open: true,
        concerned: ['local/b'],
      },
    ]);
  });

  it('is good again once a run spooled without the database is delivered', async () => {
    await backUp(folder.env());
    const before = await shown();
    await takeAway();
    await backUp(folder.env());
    await bringBack();
    const none = `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`;
    const args = ['run', ...repositories.flatMap(({ path }) => ['--source', path])];
    const spooled = await bench.run({ databaseUrl: none, args, env: folder.env() });
    expect(spooled.stdout).toContain('3 unchanged');
    const other = await create('other');
    await backUp(folder.env(), [other.path]);
    expect(await shown()).toEqual(before);
  });
});
