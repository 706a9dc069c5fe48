import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import { type StoreAddress, storeId } from '../config/stores/store-address.ts';
import { readProxies } from '../http/proxies.ts';
import { createByteBudget } from './base/byte-budget.ts';
import type { ObjectStore } from './base/object-store.ts';
import { createPace } from './base/pace.ts';
import { createFolderStore } from './folder-store.ts';
import type { GitStore } from './git/git-store.ts';
import type { GitStoreAccess } from './git/git-store-options.ts';

/** How many bytes of parts all stores together hold in memory at once. */
const MAX_BYTES_IN_MEMORY = 64 * 2 ** 20;

interface OpenStoresOptions {
  /** Through whose proxies buckets are reached. */
  environment: Environment;
  /** Where interrupted uploads are recorded, in one folder per store. */
  folder: string;
  /** The bandwidth limit for all stores together; null for none. */
  bytesPerSecond: number | null;
  clock: Clock;
  signal: AbortSignal;
  /** Called with remarks that are not failures. */
  onRemark(text: string): void;
  /** Required for stores that are git repositories. */
  git?(): GitStoreAccess;
}

/** A store, and the folder for what this machine knows about it. */
export interface OpenStore {
  id: string;
  address: StoreAddress;
  objects: ObjectStore;
  /** The same object as `objects` if the store is a git repository; else null. */
  repository: GitStore | null;
  /** Exists, and belongs to this store alone. */
  folder: string;
}

/** Opens stores, which are contacted on first use. The S3 client is loaded only if there is a bucket. */
export async function openStores(
  addresses: readonly StoreAddress[],
  { environment, folder, bytesPerSecond, clock, signal, onRemark, git }: OpenStoresOptions,
): Promise<OpenStore[]> {
  const pace = createPace(bytesPerSecond, clock, signal);
  const budget = createByteBudget(MAX_BYTES_IN_MEMORY);
  const proxies = readProxies(environment);
  return Promise.all(
    addresses.map(async (address) => {
      const id = storeId(address);
      const own = join(folder, id);
      await mkdir(own, { recursive: true, mode: 0o700 });
      if (address.kind === 'folder') {
        const objects = createFolderStore(address, { pace, signal });
        return { id, address, folder: own, objects, repository: null };
      }
      if (address.kind === 'git') {
        if (git === undefined) throw new Error('a git repository cannot be opened without access');
        const { createGitStore } = await import('./git/git-store.ts');
        const options = { address, access: git(), folder: own, clock, signal, pace };
        const repository = createGitStore(options);
        return { id, address, folder: own, objects: repository, repository };
      }
      const { createS3Store } = await import('./s3/s3-store.ts');
      const { createUploadNotes } = await import('./s3/upload-notes.ts');
      const notes = createUploadNotes(join(own, 'uploads'));
      return {
        ...{ id, address, folder: own, repository: null },
        objects: createS3Store(address, { proxies, notes, budget, pace, clock, signal, onRemark }),
      };
    }),
  );
}
