import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { type StoreAddress, storeId } from '../config/stores/store-address.ts';
import { createByteBudget } from './byte-budget.ts';
import { createFolderStore } from './folder-store.ts';
import type { GitStore } from './git/git-store.ts';
import type { GitStoreAccess } from './git/git-store-options.ts';
import type { ObjectStore } from './object-store.ts';
import { createPace } from './pace.ts';

/** How many bytes of parts are held in memory at once, by all stores. */
const MAX_BYTES_IN_MEMORY = 64 * 2 ** 20;

interface OpenStoresOptions {
  /** Where uploads that were interrupted are noted, in a folder for each store. */
  folder: string;
  /** The limit of all stores; null for none. */
  bytesPerSecond: number | null;
  clock: Clock;
  signal: AbortSignal;
  /** Called with what is not a failure, but should be known. */
  onRemark(text: string): void;
  /** Needed for stores that are git repositories. */
  git?(): GitStoreAccess;
}

/** A store, and where what this machine knows of it is kept. */
export interface OpenStore {
  id: string;
  address: StoreAddress;
  objects: ObjectStore;
  /** The same as `objects`, if it is a git repository. */
  repository: GitStore | null;
  /** Exists, and belongs to this store alone. */
  folder: string;
}

/** Opens stores, which are contacted with their first use. The client of S3 is loaded only if there is a bucket. */
export async function openStores(
  addresses: readonly StoreAddress[],
  { folder, bytesPerSecond, clock, signal, onRemark, git }: OpenStoresOptions,
): Promise<OpenStore[]> {
  const pace = createPace(bytesPerSecond, clock, signal);
  const budget = createByteBudget(MAX_BYTES_IN_MEMORY);
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
        if (git === undefined) throw new Error('a git repository was to be opened without access');
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
        objects: createS3Store(address, { notes, budget, pace, signal, onRemark }),
      };
    }),
  );
}
