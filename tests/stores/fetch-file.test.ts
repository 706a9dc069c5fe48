import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { createCipher, encryptFile } from '../../lib/stores/base/age-file.ts';
import { createSecretNaming, objectKey } from '../../lib/stores/base/layout.ts';
import { type ObjectStore, StoreFault } from '../../lib/stores/base/object-store.ts';
import { openStores } from '../../lib/stores/open-stores.ts';
import { fetchFile } from '../../lib/stores/reading/fetch-file.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

const CHUNK_BYTES = 65_536;
const identity = await generateIdentity();
const cipher = createCipher([await identityToRecipient(identity)]);
const naming = createSecretNaming('a key for names, of more than 32 characters');
const { signal } = new AbortController();

/** A store with one encrypted file, and the requests for it. */
async function storeFile(size: number) {
  const [nas, parts, target] = ['nas', 'parts', 'target'].map((name) => join(folder, name));
  for (const path of [nas, parts, target]) await mkdir(path ?? '');
  const plain = randomBytes(size);
  await writeFile(join(folder, 'plain'), plain);
  const sealed = join(folder, 'sealed');
  const made = await encryptFile(join(folder, 'plain'), sealed, cipher, signal);
  const sha256 = createHash('sha256').update(plain).digest('hex');
  const key = objectKey(naming.archive('app.bundle'), naming.content(sha256), made.sha256);
  const [store] = await openStores([parseStoreAddress(`file://${nas}`)], {
    environment: {},
    ...{ folder, bytesPerSecond: null, clock: systemClock, signal, onRemark: () => undefined },
  });
  if (store === undefined) throw new Error('there is no store');
  await store.objects.create(key, { path: sealed, ...made });
  const asked: number[] = [];
  const fetch = async (options: { stopAfter?: number; identity?: string } = {}) => {
    const objects: ObjectStore = {
      ...store.objects,
      async read(_key, from = 0) {
        asked.push(from);
        const bytes = await store.objects.read(key, from);
        return bytes === null ? null : stopAfter(bytes, options.stopAfter ?? Infinity);
      },
    };
    const reading = {
      objects,
      clock: systemClock,
      signal,
      identities: [options.identity ?? identity],
    };
    const stored_bytes = made.sizeBytes;
    const file = { name: 'file', key, sha256, size_bytes: size, stored_bytes };
    let came = 0;
    await fetchFile(reading, file, { path: target ?? '', parts: parts ?? '' }, (bytes) => {
      came += bytes;
    });
    expect((await readFile(join(target ?? '', 'file'))).equals(plain)).toBe(true);
    expect(await readdir(parts ?? '')).toEqual([]);
    return came;
  };
  const header = made.sizeBytes - size - 16 * Math.max(1, Math.ceil(size / CHUNK_BYTES));
  const leftover = async () => {
    const names = (await readdir(parts ?? '')).map((name) => join(parts ?? '', name));
    const [part = '', kept = ''] = names.sort();
    return { part, header: kept };
  };
  return { fetch, asked, leftover, header, object: join(nas ?? '', key), stored: made.sizeBytes };
}

/** Yields pieces as a network does; the store refuses further bytes after a limit. */
async function* stopAfter(bytes: AsyncIterable<Uint8Array>, limit: number) {
  let left = limit;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += 50_000) {
      const piece = chunk.subarray(at, at + Math.min(50_000, left));
      yield piece;
      left -= piece.length;
      if (left === 0) throw new StoreFault('denied', 'the credentials have expired');
    }
  }
}

it.each([0, 1, 65_535, 65_536, 131_072, 3_000_000])(
  'fetchFile decrypts a file of %i bytes',
  async (size) => {
    const { fetch, asked, stored } = await storeFile(size);
    expect(await fetch()).toBe(stored);
    expect(asked).toEqual([0]);
  },
);

it.each([
  // In the first chunk, in a later one, and in the last, also in a file of complete chunks.
  [300_000, 40_000, 0],
  [300_000, 150_000, 2],
  [3_000_000, 2_999_000, 45],
  [262_144, 262_300, 3],
])('fetchFile resumes a file of %i bytes that stopped after %i', async (size, limit, chunk) => {
  const { fetch, asked, header, stored } = await storeFile(size);
  await expect(fetch({ stopAfter: limit })).rejects.toMatchObject({ kind: 'refused' });
  expect(await fetch()).toBe(stored);
  expect(asked).toEqual([0, chunk === 0 ? 0 : header + chunk * (CHUNK_BYTES + 16)]);
});

it.each<[string, (left: { part: string; header: string }) => Promise<void>, number]>([
  ['has rotted', ({ part }) => writeFile(part, randomBytes(200_000)), 2],
  ['has lost its header', ({ header }) => rm(header), 1],
  ['has another header', ({ header }) => writeFile(header, 'age-encryption.org/v1\n'), 2],
  ['has a header that is cut short', ({ header }) => truncate(header, 100), 2],
  ['is longer than the file', ({ part }) => truncate(part, 400_000), 1],
])('fetchFile starts over if the partial file %s', async (_what, spoil, times) => {
  const { fetch, asked, leftover } = await storeFile(300_000);
  await expect(fetch({ stopAfter: 250_000 })).rejects.toMatchObject({ kind: 'refused' });
  await spoil(await leftover());
  asked.length = 0;
  await fetch();
  expect(asked).toHaveLength(times);
  expect(asked.at(-1)).toBe(0);
});

it('fetchFile reports an altered object, even after a partial download', async () => {
  const { fetch, asked, object, stored } = await storeFile(300_000);
  await expect(fetch({ stopAfter: 150_000 })).rejects.toMatchObject({ kind: 'refused' });
  const bytes = await readFile(object);
  bytes[stored - 50] = (bytes[stored - 50] ?? 0) ^ 1;
  await writeFile(object, bytes);
  asked.length = 0;
  const altered = { kind: 'damaged', reason: 'cannot be decrypted: it was altered or cut short' };
  await expect(fetch()).rejects.toMatchObject(altered);
  // The partial file may be to blame, so the whole object is requested, once.
  expect(asked).toEqual([expect.any(Number), 0]);
  asked.length = 0;
  await expect(fetch()).rejects.toMatchObject(altered);
  expect(asked).toEqual([0]);
});

// The byte is one of the Base64 text of the recipient's part.
it.each([
  [
    'another key',
    (byte: number) => (byte === 0x41 ? 0x42 : 0x41),
    'has other content than was stored',
  ],
  ['no Base64', () => 0x2a, 'cannot be decrypted: it was altered or cut short'],
])('fetchFile reports an object whose header was altered to %s', async (_what, alter, reason) => {
  const { fetch, object } = await storeFile(1_000);
  const bytes = await readFile(object);
  bytes[60] = alter(bytes[60] ?? 0);
  await writeFile(object, bytes);
  await expect(fetch()).rejects.toMatchObject({
    kind: 'damaged',
    reason: expect.stringContaining(reason),
  });
});

it('fetchFile reports that another identity cannot decrypt the object', async () => {
  const { fetch } = await storeFile(1_000);
  const other = await generateIdentity();
  await expect(fetch({ identity: other })).rejects.toMatchObject({ kind: 'locked' });
});
