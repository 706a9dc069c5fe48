import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../git/git.ts';
import { StoreFault } from '../base/object-store.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { createBlobFetcher } from './fetch-blobs.ts';
import type { GitStoreOptions } from './git-store-options.ts';
import { formatGuide, guidePaths, isGuide } from './guide.ts';
import { findLayout } from './parts.ts';
import { createPending, type Pending } from './pending.ts';
import { pushChanges } from './push-changes.ts';
import { openClone, type RepositoryClone } from './repository-clone.ts';

/** A longer file is not ours. */
const MAX_GUIDE_BYTES = 2 ** 20;

/** A repository has archives in the other layout. */
export class FilesLayout extends StoreFault {
  constructor(address: string) {
    const todo = '`npm run worker -- store migrate` turns it into `parts`';
    super('other', `${address}: it has archives at its root, in the layout \`files\`: ${todo}`);
  }
}

/** Whether a repository has archives at its root. Any other problem with it is reported when it is used. */
export async function isInFilesLayout(
  repository: { inspect(): Promise<unknown> } | null,
): Promise<boolean> {
  try {
    await repository?.inspect();
    return false;
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    return error instanceof FilesLayout;
  }
}

/** A cloned repository. */
export interface Session {
  clone: RepositoryClone;
  scratch: string;
  blobs: Blobs;
  pending: Pending;
  fetch: ReturnType<typeof createBlobFetcher>;
  /** When each file was added; null if that was not read. */
  times: Map<string, number> | null;
}

/** Clones a repository into `gitDir`. Throws GitError and StoreFault. */
export async function openSession(
  { address, access, git, signal, pace }: GitStoreOptions & { git: Git },
  folder: string,
  gitDir: string,
): Promise<Session> {
  const cloned = await openClone({
    ...{ git, from: address, gitDir },
    credential: () => access.credential(address),
  });
  const pending = createPending(cloned);
  await pending.read();
  if (!access.mayHaveFiles && findLayout(pending.tip().keys()) === 'files') {
    throw new FilesLayout(address.text);
  }
  const blobs = openBlobs({ git, clone: cloned, scratch: folder, signal, pace });
  const fetch = address.isLocal ? async () => undefined : createBlobFetcher(cloned);
  return { clone: cloned, scratch: folder, blobs, pending, fetch, times: null };
}

/** Makes one commit of the pending changes and pushes it. Throws GitError and StoreFault. */
export async function pushPending(
  { address, access, clock, signal }: GitStoreOptions,
  opened: Session,
): Promise<void> {
  const { pending, blobs } = opened;
  await pushChanges(
    {
      ...{ clone: opened.clone, clock, signal, pauseAfter: access.pauseAfter },
      async beforePush() {
        const adds = [...pending.next().changes.values()].some((id) => id !== null);
        if (adds) await access.beforePush(address);
      },
      async rebase() {
        await pending.rebase();
        return pending.next();
      },
    },
    pending.next(),
  );
  const now = clock.now();
  for (const path of pending.next().changes.keys()) opened.times?.set(path, now);
  await blobs.forget(pending.written());
  pending.forget();
  // Includes what others have pushed since.
  await pending.read();
}

/** Adds the guide to the pending changes; false if it is already there. Throws GitError. */
export async function writeGuide({
  blobs,
  pending,
  fetch,
  scratch: folder,
}: Session): Promise<boolean> {
  const [first, second] = guidePaths;
  const files = pending.files();
  if (files.has(second)) return false;
  const text = formatGuide();
  const id = await blobs.writeText(text);
  const there = files.get(first);
  if (there === id) return false;
  let path: string = first;
  if (there !== undefined) {
    await fetch([{ id: there, bytes: 0 }]);
    const file = join(folder, randomUUID());
    if ((await blobs.sizeOf(there)) > MAX_GUIDE_BYTES) path = second;
    else {
      await blobs.copy(there, file);
      if (!(await isGuide(file))) path = second;
      await rm(file);
    }
  }
  pending.add(path, id, Buffer.byteLength(text));
  return true;
}

/** Whether there is a guide. */
export function hasGuide(pending: Pending): boolean {
  return guidePaths.some((path) => pending.files().has(path));
}
