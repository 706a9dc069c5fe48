import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { type GitAddress, localRepository } from '../../lib/config/stores/store-address.ts';
import { objectKey, stateKey } from '../../lib/stores/base/layout.ts';
import { type ObjectFile, StoreFault } from '../../lib/stores/base/object-store.ts';
import { createGitStore, type GitStore } from '../../lib/stores/git/git-store.ts';
import type { GitStoreAccess } from '../../lib/stores/git/git-store-options.ts';
import { indexObjects, partPath } from '../../lib/stores/git/parts.ts';
import { measureRepository, startAnew } from '../../lib/stores/git/start-anew.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createBare, git } from '../support/git.ts';

const folder = useTemporaryFolder();
const target = join(folder, 'target.git');
let stores: GitStore[];
beforeEach(async () => {
  stores = [];
  await createBare(target);
  await appendFile(join(target, 'config'), '[uploadpack]\n\tallowFilter = true\n');
});
afterEach(async () => {
  for (const store of stores) await store.close();
});

const signal = new AbortController().signal;
const access: GitStoreAccess = {
  environment: { PATH: process.env.PATH, HOME: '/nonexistent' },
  credential: async () => null,
  beforePush: async () => undefined,
  explain: async (_, { message }) => new StoreFault('other', message),
  pauseAfter: () => null,
};
/** The same repository, by local path or by URL; in the second case it is cloned without its files. */
const addresses: [string, () => GitAddress][] = [
  ['a local path', () => localRepository(target)],
  ['a URL', () => ({ ...localRepository(target), location: `file://${target}`, isLocal: false })],
];

/** Somebody else who may push to the repository. */
const somebody = {
  ...{ PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' },
  ...{ GIT_AUTHOR_NAME: 'Eve', GIT_AUTHOR_EMAIL: 'eve@example.org' },
  ...{ GIT_COMMITTER_NAME: 'Eve', GIT_COMMITTER_EMAIL: 'eve@example.org' },
};

let made = 0;
async function makeFile(size: number) {
  const bytes = randomBytes(size);
  const path = join(folder, `file-${made++}`);
  await writeFile(path, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, sizeBytes: size, sha256, bytes, key: objectKey('ada__app', sha256, null) };
}

async function collect<Item>(items: AsyncIterable<Item> | null): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items ?? []) all.push(item);
  return all;
}

describe.each(addresses)('a git store at %s', (_, address) => {
  async function open(more: Partial<GitStoreAccess> = {}): Promise<GitStore> {
    const own = join(folder, `store-${stores.length}`);
    await mkdir(own);
    const options = { address: address(), folder: own, clock: systemClock, signal };
    const store = createGitStore({
      ...options,
      access: { ...access, ...more },
      pace: async () => undefined,
    });
    stores.push(store);
    return store;
  }
  const bytesOf = async (store: GitStore, key: string, from?: number) =>
    Buffer.concat(await collect(await store.read(key, from)));
  const keysOf = async (store: GitStore) => (await collect(store.list(''))).map(({ key }) => key);
  const commits = async () => Number(await git(target, 'rev-list', '--all', '--count'));

  it('keeps objects in parts, and has none before a commit', async () => {
    const small = { maxPartBytes: 1_000 };
    const store = await open(small);
    const files = await Promise.all([0, 1, 1_000, 2_500].map(makeFile));
    for (const file of files) expect(await store.create(file.key, file)).toBe(true);
    expect(await store.create(files[0]?.key ?? '', files[0] as ObjectFile)).toBe(false);
    expect(await commits()).toBe(0);
    expect(await store.commit()).toEqual([]);
    expect(await store.commit()).toEqual([]);
    expect(await commits()).toBe(1);
    const other = await open();
    const listed = await collect(other.list(''));
    expect(listed.map(({ key, sizeBytes }) => ({ key, sizeBytes }))).toEqual(
      files
        .map(({ key, sizeBytes }) => ({ key, sizeBytes }))
        .sort((one, next) => (one.key < next.key ? -1 : 1)),
    );
    await other.prepare(files.map(({ key }) => key));
    for (const { key, bytes } of files) {
      expect((await bytesOf(other, key)).equals(bytes)).toBe(true);
      expect((await bytesOf(other, key, 1_500)).equals(bytes.subarray(1_500))).toBe(true);
    }
    for (const { key } of files.slice(1)) await other.remove(key);
    await other.commit();
    expect(await keysOf(await open())).toEqual([files[0]?.key]);
  });

  it('pushes before too much is pending, and resumes a partial object', async () => {
    const small = { maxPartBytes: 1_000, maxPendingBytes: 2_000 };
    let pushes = 0;
    const broken = await open({
      ...small,
      async beforePush() {
        if (++pushes === 3) throw new StoreFault('away', 'it is away');
      },
    });
    const file = await makeFile(9_500);
    await expect(broken.create(file.key, file)).rejects.toThrow('it is away');
    expect(await commits()).toBe(2);
    const store = await open(small);
    expect(await keysOf(store)).toEqual([]);
    expect(await store.create(file.key, file)).toBe(true);
    await store.commit();
    expect((await bytesOf(await open(), file.key)).equals(file.bytes)).toBe(true);
    expect(await git(target, 'fsck', '--full')).toBe('');
  });

  it('does not store a file that has changed', async () => {
    const store = await open({ maxPartBytes: 1_000 });
    const file = await makeFile(2_500);
    await writeFile(file.path, randomBytes(2_500));
    const fault = { name: 'StoreFault', kind: 'damaged' };
    await expect(store.create(file.key, file)).rejects.toMatchObject(fault);
    await store.commit();
    expect(await commits()).toBe(0);
  });

  it('returns the keys that another worker took with different content', async () => {
    const [one, other] = [await open(), await open()];
    const [first, second] = [await makeFile(10), await makeFile(20)];
    const key = stateKey('ada__app', 1, false);
    for (const store of [one, other]) expect(await keysOf(store)).toEqual([]);
    await one.create(key, first);
    await one.create(first.key, first);
    await other.create(key, second);
    await other.create(first.key, first);
    await other.create(second.key, second);
    expect(await one.commit()).toEqual([]);
    expect(await other.commit()).toEqual([key]);
    expect((await bytesOf(other, key)).equals(first.bytes)).toBe(true);
    expect((await keysOf(await open())).sort()).toEqual([first.key, second.key, key].sort());
    expect(await commits()).toBe(2);
  });

  it('drops changes that could not be pushed', async () => {
    let isPublic = true;
    const store = await open({
      async beforePush() {
        if (isPublic) throw new StoreFault('other', 'it is public');
      },
    });
    const [first, second] = [await makeFile(10), await makeFile(20)];
    await store.create(first.key, first);
    await expect(store.commit()).rejects.toThrow('it is public');
    expect(await keysOf(store)).toEqual([]);
    isPublic = false;
    await store.create(second.key, second);
    await store.commit();
    expect(await keysOf(await open())).toEqual([second.key]);
  });

  it('includes what an earlier layout left in the history of a remote in its size', async () => {
    const clone = join(folder, 'earlier');
    await git(folder, 'clone', '--quiet', target, clone);
    await git(clone, 'checkout', '--quiet', '-B', 'main');
    const last = await makeFile(50_000);
    for (const bytes of [randomBytes(45_000), randomBytes(48_000), last.bytes]) {
      await writeFile(join(clone, 'ada__app.bundle'), bytes);
      await git(clone, 'add', '--all');
      await git(clone, 'commit', '--quiet', '-m', 'Update');
    }
    await git(clone, 'push', '--quiet', 'origin', 'main');
    const store = await open({ mayHaveFiles: true });
    await store.create(last.key, last);
    await store.commit();
    const remote = { ...address(), isLocal: false };
    expect(
      await measureRepository({ repository: await open(), address: remote, access, signal }),
    ).toBe(150_000);
  });

  it('starts over without downloading what it keeps', async () => {
    const store = await open();
    const [first, second] = [await makeFile(50_000), await makeFile(60_000)];
    const [old, state] = [stateKey('ada__app', 1, false), stateKey('ada__app', 2, false)];
    await store.create(first.key, first);
    await store.create(old, first);
    await store.commit();
    await store.create(second.key, second);
    await store.create(state, second);
    await store.commit();
    const fresh = await open();
    const options = { repository: fresh, address: address(), access, folder, signal };
    const before = await measureRepository(options);
    const dropped = new Set([old, first.key]);
    const needed = new Map([state, second.key].map((key) => [key, second.sizeBytes]));
    const needing = (key: string, bytes: number) => new Map([...needed, [key, bytes]]);
    expect(await startAnew({ ...options, dropped, needed: needing('archives/x', 1) })).toBe(
      'archives/x is missing',
    );
    expect(await startAnew({ ...options, dropped, needed: needing(state, 1) })).toBe(
      `${state} has another size than was stored`,
    );
    // Only the history goes.
    expect(await startAnew({ ...options, needed, dropped: new Set() })).toBeNull();
    expect(await keysOf(fresh)).toHaveLength(4);
    expect(await startAnew({ ...options, needed, dropped })).toBeNull();
    expect(await startAnew({ ...options, needed, dropped })).toBe('everything is needed');
    expect(await git(target, 'rev-list', '--count', 'main')).toBe('1');
    expect((await keysOf(await open())).sort()).toEqual([second.key, state].sort());
    expect(await measureRepository(options)).toBeLessThan(before);
    expect(await git(target, 'fsck', '--full', '--no-dangling')).toBe('');
    expect((await bytesOf(await open(), second.key)).equals(second.bytes)).toBe(true);
    // Backups continue from there.
    const third = await makeFile(10);
    await fresh.create(third.key, third);
    await fresh.commit();
    expect(await git(target, 'rev-list', '--count', 'main')).toBe('2');
  });

  it('does not start over if somebody pushes in the meantime, and loses nothing of it', async () => {
    const store = await open();
    const [first, second] = [await makeFile(500), await makeFile(600)];
    await store.create(first.key, first);
    await store.commit();
    const theirs = await open();
    await theirs.create(second.key, second);
    let isOvertaken = false;
    // Credentials are asked for before each push: when the repository was already inspected.
    const credential = async () => {
      if (!isOvertaken) expect(await theirs.commit()).toEqual([]);
      isOvertaken = true;
      return null;
    };
    const before = await git(target, 'rev-parse', 'main');
    const options = { repository: store, address: address(), folder, signal, needed: new Map() };
    await expect(
      startAnew({
        ...{ ...options, dropped: new Set([first.key]) },
        access: { ...access, credential },
      }),
    ).rejects.toMatchObject({ name: 'StoreFault', message: expect.stringContaining('stale info') });
    expect(await git(target, 'rev-parse', 'main^')).toBe(before);
    expect((await keysOf(await open())).sort()).toEqual([first.key, second.key].sort());
    expect((await bytesOf(await open(), second.key)).equals(second.bytes)).toBe(true);
  });

  it('does not store a state if an object of its archive was dropped in the meantime', async () => {
    const store = await open();
    const [first, second] = [await makeFile(500), await makeFile(600)];
    await store.create(first.key, first);
    await store.commit();
    const other = await open();
    const [state, elsewhere] = [stateKey('ada__app', 1, false), stateKey('ada__lib', 1, false)];
    // It is there, so that only the state is sent.
    expect(await other.create(first.key, first)).toBe(false);
    for (const key of [state, elsewhere]) await other.create(key, second);
    // Not cleaned up yet, as on a host.
    const remote = { ...address(), isLocal: false };
    const options = { repository: store, address: remote, access, folder, signal };
    await store.create(second.key, second);
    await store.commit();
    const dropped = new Set([first.key]);
    expect(await startAnew({ ...options, needed: new Map(), dropped })).toBeNull();
    expect(await other.commit()).toEqual([state]);
    expect((await keysOf(await open())).sort()).toEqual([second.key, elsewhere].sort());
    expect(await other.create(first.key, first)).toBe(true);
    expect(await other.create(state, second)).toBe(true);
    expect(await other.commit()).toEqual([]);
    expect((await bytesOf(await open(), first.key)).equals(first.bytes)).toBe(true);
  });

  /** Commits foreign files: mode, blob and path of each. */
  const forge = async (...lines: string[]) => {
    const index = join(folder, `index-${made++}`);
    const feed = (args: string[], input = '') =>
      execFileSync('git', args, { cwd: target, input, env: { ...somebody, GIT_INDEX_FILE: index } })
        .toString()
        .trim();
    feed(['read-tree', 'main']);
    feed(['update-index', '--index-info'], `${lines.join('\n')}\n`);
    const tree = feed(['write-tree', '--missing-ok']);
    const commit = feed(['commit-tree', tree, '-p', 'main', '-m', 'forged']);
    feed(['update-ref', 'refs/heads/main', commit]);
  };
  const nowhere = '1234567890'.repeat(4);
  const blobOf = (input: string) =>
    execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: target, input }).toString().trim();
  const stored = async () => {
    const [store, file] = [await open(), await makeFile(100)];
    await store.create(file.key, file);
    await store.commit();
    return file;
  };

  it('ignores parts that are links, submodules, or without a number', async () => {
    const { key } = await stored();
    const blob = blobOf('x');
    const other = (digit: string) => objectKey('ada__app', digit.repeat(64), null);
    await forge(
      `120000 ${blob}\t${other('1')}.part-0001-of-0001.1`,
      `160000 ${nowhere}\t${other('2')}.part-0001-of-0001.1`,
      `100644 ${blob}\t${other('3')}.part-0002-of-0000.1`,
      `100644 ${blob}\t${key}.part-0000-of-0001.1`,
      `100644 ${blob}\tarchives/${'a'.repeat(300)}/states/00000001.json.part-0001-of-0001.1`,
    );
    expect(await keysOf(await open())).toEqual([key]);
  });

  it('reads the other objects if one is unreadable, or larger than its name says', async () => {
    const { key, bytes } = await stored();
    const bomb = blobOf('x'.repeat(5_000));
    const [lost, large] = [
      objectKey('ada__app', '1'.repeat(64), null),
      stateKey('ada__app', 1, false),
    ];
    await forge(
      `100644 ${nowhere}\t${lost}.part-0001-of-0001.1`,
      `100644 ${bomb}\t${large}.part-0001-of-0001.100`,
    );
    const store = await open();
    await store.prepare([lost, key, large]);
    const damaged = { name: 'StoreFault', kind: 'damaged' };
    const [first, second, third] = await Promise.allSettled(
      [lost, key, large].map((one) => bytesOf(store, one)),
    );
    expect(first).toMatchObject({ status: 'rejected', reason: damaged });
    expect(second).toEqual({ status: 'fulfilled', value: bytes });
    expect(third).toMatchObject({
      reason: { ...damaged, message: expect.stringContaining('it has 5000 bytes') },
    });
  });

  it('reports a missing repository as a fault of the store', async () => {
    await rm(target, { recursive: true });
    const store = await open();
    await expect(keysOf(store)).rejects.toMatchObject({ name: 'StoreFault' });
    expect(await store.commit()).toEqual([]);
  });
});

// Looking for each part that a name announces would take minutes.
it('an index is not held up by names that announce thousands of parts', () => {
  const keyOf = (number: number) => objectKey('ada__app', `${number}`.padStart(64, '0'), null);
  const paths = Array.from({ length: 60_000 }, (_, at) => partPath(keyOf(at), 1, 9_999, 1));
  const whole = partPath(keyOf(1), 1, 1, 1);
  const files = new Map([...paths, whole].map((path) => [path, 'blob']));
  expect(indexObjects(files).keys('', '')).toEqual([keyOf(1)]);
});
