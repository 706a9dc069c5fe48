import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { type BucketAddress, parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { readProxies } from '../../lib/http/proxies.ts';
import { createByteBudget } from '../../lib/stores/base/byte-budget.ts';
import type { ObjectFile, ObjectStore } from '../../lib/stores/base/object-store.ts';
import { createPace } from '../../lib/stores/base/pace.ts';
import { createS3Store } from '../../lib/stores/s3/s3-store.ts';
import { createUploadNotes } from '../../lib/stores/s3/upload-notes.ts';

/** Writes a file of random bytes. */
export async function makeFile(folder: string, size: number) {
  const bytes = randomBytes(size);
  const path = join(folder, randomUUID());
  await writeFile(path, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, sizeBytes: size, sha256, bytes } satisfies ObjectFile & { bytes: Buffer };
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The bytes of an object; null if there is none. */
export async function bytesOf(store: ObjectStore, key: string, from?: number) {
  const bytes = await store.read(key, from);
  return bytes === null ? null : Buffer.concat(await collect(bytes));
}

interface BucketOptions {
  folder: string;
  maxSilenceMs?: number;
  bytesPerSecond?: number;
  clock?: Clock;
}

/** Opens a bucket, as `openStores` does. */
export function openBucket(
  address: string,
  { folder, bytesPerSecond, clock = systemClock, ...rest }: BucketOptions,
): ObjectStore {
  const { signal } = new AbortController();
  return createS3Store(parseStoreAddress(address) as BucketAddress, {
    proxies: readProxies({}),
    notes: createUploadNotes(join(folder, 'uploads')),
    budget: createByteBudget(64 * 2 ** 20),
    pace: createPace(bytesPerSecond ?? null, clock, signal),
    onRemark: () => undefined,
    ...{ clock, signal, ...rest },
  });
}
