import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createBare, git } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useStoreWorld } from '../../support/store-world.ts';
import { refsOf } from '../../support/versioned-app.ts';

const database = useDatabase();
const DAY_MS = 24 * 60 * 60_000;

describe.each([true, false])('a repository as a store, encrypted: %s', (isEncrypted) => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted });
  let target: string;
  let address: string;
  beforeEach(async () => {
    target = join(world.folder, 'target.git');
    address = `git+file://${target}`;
    await createBare(target);
  });
  const copy = (from: string, to: string) => world.call(['store', 'copy', from, to]);
  const check = (store: string) =>
    world.call(['store', 'check', '--deep', '--store', store, ...world.withIdentity]);
  const restored = async (from: string, to: string) => {
    const restore = ['restore', '--from', from, ...world.withIdentity, 'local/app', '--bare'];
    expect(await world.call([...restore, '--to', to])).toMatchObject({ code: 0 });
    return refsOf(join(world.elsewhere, to));
  };

  it('receives a copy of another store once, and can be copied back', async () => {
    await world.storeFirst();
    await world.app.commit({ 'b.txt': 'more' });
    await world.store();
    const first = await copy(world.address, address);
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/everything is there now\n$/),
    ]);
    const commits = await git(target, 'rev-list', '--count', 'main');
    expect((await copy(world.address, address)).stdout).toMatch(/: copied 0 objects of 0 B, /);
    expect(await git(target, 'rev-list', '--count', 'main')).toBe(commits);
    expect((await check(address)).stdout).toMatch(/everything is there/);
    const back = await copy(address, world.other);
    expect([back.code, back.stdout]).toEqual([
      0,
      expect.stringMatching(/everything is there now\n$/),
    ]);
    expect((await check(world.other)).stdout).toMatch(/everything is there/);
    const refs = await refsOf(world.app.path);
    expect(await restored(address, 'from-git')).toEqual(refs);
    expect(await restored(world.other, 'from-folder')).toEqual(refs);
  });

  it('is checked as the destination if no store is named', async () => {
    await world.storeFirst();
    await copy(world.address, address);
    const env = { BACKUP_REPO_PATH: target };
    const args = ['store', 'check', ...world.withIdentity];
    const { code, stdout } = await world.call(args, { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${address}: 1 archive, `)]);
    const both = { ...env, BACKUP_STORES: `${world.address},${address}` };
    expect((await world.call(args, { env: both })).stdout.match(/: 1 archive, /g)).toHaveLength(2);
  });

  it('reports a fault when it is listed or checked after it was emptied', async () => {
    await world.storeFirst();
    await copy(world.address, address);
    const clone = join(world.folder, 'emptied');
    await git(world.folder, 'clone', '--quiet', target, clone);
    await git(clone, 'rm', '--quiet', '-r', 'archives');
    await git(clone, 'commit', '--quiet', '-m', 'Empty it');
    await git(clone, 'push', '--quiet');
    const listed = await world.call(['restore', '--from', address, '--list']);
    expect([listed.code, listed.stdout]).toEqual([1, expect.stringContaining('or it was emptied')]);
    const checked = await check(address);
    expect([checked.code, checked.stdout]).toEqual([
      1,
      expect.stringContaining('fault: it has no archive'),
    ]);
  });

  it('is pruned with a commit, and keeps the rest', async () => {
    await world.storeFirst();
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    await world.store();
    await copy(world.address, address);
    const clock = { ...systemClock, now: () => Date.now() + 40 * DAY_MS };
    const args = [
      'store',
      'prune',
      '--store',
      address,
      ...world.withIdentity,
      '--older-than',
      '30',
    ];
    const states = async () =>
      (await git(target, 'ls-tree', '-r', '--name-only', 'main')).match(/\/states\//g)?.length;
    const dry = await world.call(args, { clock });
    expect(dry.stdout).toMatch(/: 1 state and \d objects? of \S+ KiB would be removed: give --yes/);
    expect(await states()).toBe(2);
    const done = await world.call([...args, '--yes'], { clock });
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringMatching(/: 1 state and \d objects? of \S+ KiB removed\n$/),
    ]);
    expect(await states()).toBe(1);
    expect((await check(address)).stdout).toMatch(/everything is there/);
    expect((await world.call([...args, '--yes'], { clock })).stdout).toContain('nothing to remove');
    expect(await restored(address, 'x')).toEqual(await refsOf(world.app.path));
  });
});

describe('a repository that receives a copy of a bucket', () => {
  const world = useStoreWorld(database, { place: 'bucket', isEncrypted: false });

  it('keeps the objects copied before a fault of the bucket', async () => {
    const target = join(world.folder, 'target.git');
    await createBare(target);
    await world.storeFirst();
    const copy = () => world.call(['store', 'copy', world.address, `git+file://${target}`]);
    world.server.fail(({ method, key }) =>
      method === 'GET' && key.includes('/states/')
        ? { status: 403, code: 'AccessDenied' }
        : undefined,
    );
    const failed = await copy();
    expect([failed.code, failed.stdout]).toEqual([
      1,
      expect.stringMatching(/: copied 3 objects of .* 1 fault\n$/),
    ]);
    world.server.fail(null);
    expect((await copy()).stdout).toMatch(/: copied 1 object of .* 2 were already there: /);
  });
});
