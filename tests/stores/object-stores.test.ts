import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import type { ObjectStore } from '../../lib/stores/base/object-store.ts';
import { openStores } from '../../lib/stores/open-stores.ts';
import { useSharedFolder } from '../support/folders.ts';
import { git } from '../support/git.ts';
import { type S3Fault, type S3Server, useS3Server } from '../support/s3-server.ts';
import { bytesOf, collect, makeFile as makeIn } from '../support/store-objects.ts';

const folder = useSharedFolder();
const server = useS3Server();

const makeFile = (size: number) => makeIn(folder, size);

async function open(address: string, remarks: string[] = []): Promise<ObjectStore> {
  const [store] = await openStores([parseStoreAddress(address)], {
    environment: {},
    folder: join(folder, 'known'),
    bytesPerSecond: null,
    clock: systemClock,
    signal: new AbortController().signal,
    onRemark: (text) => void remarks.push(text),
  });
  if (store === undefined) throw new Error('no store');
  return store.objects;
}

const keysOf = async (store: ObjectStore, prefix: string, after?: string) =>
  (await collect(store.list(prefix, after))).map(({ key }) => key);

const kinds: [string, (name: string) => Promise<ObjectStore>][] = [
  [
    'a folder',
    async (name) => {
      await mkdir(join(folder, name));
      return open(`file://${join(folder, name)}`);
    },
  ],
  ['a bucket', (name) => open(server.address(name))],
  ['a bucket without conditional writes', (name) => open(server.address(name, '&conditional=no'))],
];

describe.each(kinds)('%s', (kind, openStore) => {
  const name = kind.replaceAll(' ', '-');

  it('keeps an object and never replaces it', async () => {
    const store = await openStore(`${name}-1`);
    const [first, second] = [await makeFile(1_000), await makeFile(1_000)];
    expect(await store.create('a/b/one', first)).toBe(true);
    expect(await store.create('a/b/one', second)).toBe(false);
    expect(await bytesOf(store, 'a/b/one')).toEqual(first.bytes);
    expect(await bytesOf(store, 'a/b/one', 990)).toEqual(first.bytes.subarray(990));
    expect(await store.read('a/b/two')).toBeNull();
    await store.remove('a/b/one');
    await store.remove('a/b/one');
    expect(await store.read('a/b/one')).toBeNull();
  });

  it('lists keys by prefix, in order, after a given key', async () => {
    const store = await openStore(`${name}-2`);
    const file = await makeFile(10);
    const keys = ['a/1', 'a/2/x', 'a/2/y', 'a/3', 'b/1'];
    for (const key of keys.toReversed()) await store.create(key, file);
    expect(await keysOf(store, 'a/')).toEqual(keys.slice(0, 4));
    expect(await keysOf(store, 'a/2')).toEqual(['a/2/x', 'a/2/y']);
    expect(await keysOf(store, 'a/', 'a/2/x')).toEqual(['a/2/y', 'a/3']);
    expect(await keysOf(store, '')).toEqual(keys);
    expect(await keysOf(store, 'c')).toEqual([]);
    expect(await collect(store.list('b'))).toMatchObject([{ key: 'b/1', sizeBytes: 10 }]);
  });

  it('keeps a large object', async () => {
    const store = await openStore(`${name}-3`);
    const file = await makeFile(20 * 2 ** 20 + 5);
    expect(await store.create('large', file)).toBe(true);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
    expect(await store.create('large', await makeFile(9 * 2 ** 20))).toBe(false);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
  });

  it.each([1_000, 9 * 2 ** 20])('rejects a file of %i bytes that has changed', async (size) => {
    const store = await openStore(`${name}-4-${size}`);
    const file = await makeFile(size);
    await writeFile(file.path, randomBytes(size));
    await expect(store.create('one', file)).rejects.toMatchObject({
      name: 'StoreFault',
      kind: 'damaged',
    });
    expect(await keysOf(store, '')).toEqual([]);
  });
});

describe('a folder', () => {
  it('is not created if it does not exist: a disk may not be mounted', async () => {
    const store = await open(`file://${join(folder, 'nowhere')}`);
    const fault = { name: 'StoreFault', kind: 'missing' };
    await expect(store.create('a', await makeFile(1))).rejects.toMatchObject(fault);
    await expect(store.read('a')).rejects.toMatchObject(fault);
    await expect(keysOf(store, '')).rejects.toMatchObject(fault);
    expect(await readdir(folder)).not.toContain('nowhere');
  });
});

describe('a bucket', () => {
  const parts = (requests: ReturnType<S3Server['takeRequests']>) =>
    requests.filter(({ method, query }) => method === 'PUT' && query.has('partNumber'));

  it('sends the SHA-256 of each body, and signs it', async () => {
    const store = await open(server.address('signed'));
    const small = await makeFile(1_000);
    const large = await makeFile(9 * 2 ** 20);
    const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
    server.takeRequests();
    await store.create('small', small);
    await store.create('large', large);
    const sent = server.takeRequests().filter(({ method }) => method === 'PUT');
    const hashes = [
      sha256(small.bytes),
      sha256(large.bytes.subarray(0, 8 * 2 ** 20)),
      sha256(large.bytes.subarray(8 * 2 ** 20)),
    ];
    const header = (name: string) => sent.map(({ headers }) => headers[name]).sort();
    expect(header('x-amz-content-sha256')).toEqual(hashes.map((one) => one.toString('hex')).sort());
    expect(header('x-amz-checksum-sha256')).toEqual(
      hashes.map((one) => one.toString('base64')).sort(),
    );
  });

  it('resumes an interrupted upload', async () => {
    const store = await open(server.address('resumed'));
    const file = await makeFile(40 * 2 ** 20);
    server.fail(({ query }) =>
      Number(query.get('partNumber')) > 3 ? { status: 403, code: 'ExpiredToken' } : undefined,
    );
    await expect(store.create('large', file)).rejects.toMatchObject({ kind: 'denied' });
    server.fail(null);
    server.takeRequests();
    const again = await open(server.address('resumed'));
    expect(await again.create('large', file)).toBe(true);
    expect(parts(server.takeRequests()).length).toBeLessThanOrEqual(2);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
  });

  it.each([
    ['reports', 'AccessDenied', 403, 1],
    ['does not report', 'NoSuchUpload', 404, 0],
  ])('%s an upload that lost its key and cannot be aborted: %s', async (_, code, status, count) => {
    const remarks: string[] = [];
    const store = await open(server.address(`lost-${code}`), remarks);
    server.fail(({ method, query }) => {
      if (!query.has('uploadId')) return undefined;
      if (method === 'POST') return { status: 412, code: 'PreconditionFailed' };
      return method === 'DELETE' ? { status, code } : undefined;
    });
    expect(await store.create('large', await makeFile(17 * 2 ** 20))).toBe(false);
    server.fail(null);
    expect(remarks).toHaveLength(count);
    if (count > 0) {
      expect(remarks[0]).toMatch(/abandoned upload of \S+large could not be removed.*AccessDenied/);
      expect(remarks[0]).not.toContain('S3RVER');
    }
  });

  it('reuses no parts of a file that was not the announced one', async () => {
    const store = await open(server.address('changed'));
    const file = await makeFile(20 * 2 ** 20);
    await writeFile(file.path, randomBytes(20 * 2 ** 20));
    await expect(store.create('large', file)).rejects.toMatchObject({ kind: 'damaged' });
    await writeFile(file.path, file.bytes);
    expect(await store.create('large', file)).toBe(true);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
  });

  it.each([
    ['cut', 'cut' as const],
    ['answered and the answer lost', 'answer lost' as const],
    ['answered 503', { status: 503, code: 'SlowDown' }],
    ['answered 500', { status: 500, code: 'InternalError' }],
  ])('keeps a large object even if each request is %s once', async (what, fault) => {
    const store = await open(server.address(`faults-${what.replaceAll(' ', '-')}`));
    const file = await makeFile(17 * 2 ** 20);
    const failed = new Set<string>();
    server.fail(({ method, query }) => {
      const which = `${method} ${query}`;
      if (failed.has(which)) return undefined;
      failed.add(which);
      return fault;
    });
    // If the answer to the last request is lost, the key looks taken.
    await store.create('large', file);
    server.fail(null);
    expect(failed.size).toBeGreaterThan(4);
    expect((await bytesOf(store, 'large'))?.equals(file.bytes)).toBe(true);
  });

  it.each<[string, number, S3Fault | 'wrong checksum']>([
    ['refused as taken', 9 * 2 ** 20, { status: 412, code: 'PreconditionFailed' }],
    ['refused as damaged', 9 * 2 ** 20, { status: 400, code: 'BadDigest' }],
    ['answered with a wrong checksum', 9 * 2 ** 20, 'wrong checksum'],
    ['refused as taken', 10, { status: 412, code: 'PreconditionFailed' }],
    ['refused as damaged', 10, { status: 400, code: 'BadDigest' }],
    ['answered with a wrong checksum', 10, 'wrong checksum'],
  ])(
    'has what it confirmed if any one request is %s, of an object of %i bytes',
    async (what, size, fault) => {
      const file = await makeFile(size);
      const isConfirmed: boolean[] = [];
      for (let last = false, index = 1; !last; index++) {
        const store = await open(
          server.address(`one-${what.replaceAll(' ', '-')}-${size}-${index}`),
        );
        let count = 0;
        const isMeant = () => ++count === index;
        if (fault === 'wrong checksum') {
          server.answer(() => ({ sha256: isMeant() ? 'wrong' : 'right' }));
        } else server.fail(() => (isMeant() ? fault : undefined));
        const result = await store.create('one', file).catch((reason: unknown) => reason);
        server.fail(null);
        server.answer(null);
        last = count < index;
        if (result === true) isConfirmed.push(true);
        else {
          if (result !== false) expect(result).toMatchObject({ name: 'StoreFault' });
          isConfirmed.push(false);
          await store.create('one', file);
        }
        expect((await bytesOf(store, 'one'))?.equals(file.bytes)).toBe(true);
      }
      // The last upload had no fault.
      expect(isConfirmed).toContain(false);
      expect(isConfirmed.at(-1)).toBe(true);
    },
  );

  it.each([
    ['denied', { status: 403, code: 'AccessDenied' }],
    ['missing', { status: 404, code: 'NoSuchBucket' }],
    ['damaged', { status: 400, code: 'BadDigest' }],
    ['full', { status: 507, code: 'InsufficientStorage' }],
    ['away', { status: 503, code: 'SlowDown' }],
  ])('reports the kind of fault: %s', async (kind, fault) => {
    const store = await open(server.address('wrong'));
    server.fail(() => fault);
    const error = await store.create('a', await makeFile(10)).catch((reason: unknown) => reason);
    server.fail(null);
    expect(error).toMatchObject({ name: 'StoreFault', kind });
    expect(String(error)).toContain('s3://backups/wrong');
    expect(String(error)).not.toMatch(/S3RVER|127\.0\.0\.1/);
  });
});

describe('a folder', () => {
  const nas = async (name: string) => {
    const path = join(folder, name);
    await mkdir(path);
    return { path, store: await open(`file://${path}`) };
  };

  it('is not used as a store if it is a git repository', async () => {
    const { path, store } = await nas('repository.git');
    await git(path, 'init', '--quiet', '--bare');
    await expect(keysOf(store, '')).rejects.toThrow(
      `it is a git repository, whose address is git+file://${path}`,
    );
  });

  it('writes nothing outside itself if somebody created a link in it', async () => {
    const { path, store } = await nas('linked');
    const outside = join(folder, 'outside');
    await mkdir(outside);
    await mkdir(join(path, 'archives'));
    await symlink(outside, join(path, 'archives', 'a'));
    const file = await makeFile(10);
    await expect(store.create('archives/a/objects/one', file)).rejects.toThrow(
      `archives/a is a link, which is not followed`,
    );
    expect(await readdir(outside)).toEqual([]);
  });

  it('names the path of a fault in it', async () => {
    const { path, store } = await nas('strange');
    await mkdir(join(path, 'archives', 'a'), { recursive: true });
    await writeFile(join(path, 'archives', 'a', 'states'), 'no folder');
    await expect(keysOf(store, 'archives/a/states/')).rejects.toThrow(
      'ENOTDIR (not a directory): archives/a/states',
    );
  });
});
