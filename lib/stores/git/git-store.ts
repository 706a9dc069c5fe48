import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { loadOnce } from '../../async.ts';
import { createGit, GitError } from '../../git/git.ts';
import { makeScratch, removeScratch, sweepScratch } from '../../processes/scratch.ts';
import { createFaultGuard } from '../base/fault-guard.ts';
import { README_KEY } from '../base/layout.ts';
import { type ObjectStore, type StoredObject, StoreFault } from '../base/object-store.ts';
import { paced } from '../base/pace.ts';
import { formatReadme } from '../base/readme.ts';
import type { GitStoreOptions } from './git-store-options.ts';
import { MAX_PART_BYTES, type ObjectPart, objectOf, partSizes } from './parts.ts';
import { committer, type RepositoryClone } from './repository-clone.ts';
import { hasGuide, openSession, pushPending, type Session, writeGuide } from './session.ts';
import { readTimes } from './tree.ts';

/** Hosts refuse a push above 2 GiB. */
const MAX_PENDING_BYTES = 2 ** 30;
/** After this many failures to open it, the repository is not contacted again. */
const MAX_OPENINGS = 3;
/** Larger objects are fetched when they are read. */
const MAX_PREPARED_BYTES = 8 * 2 ** 20;

/** A git repository that keeps objects as files of its default branch. */
export interface GitStore extends Required<ObjectStore> {
  /** The clone and its files (ids by path), without changes that are not pushed. Throws StoreFault. */
  inspect(): Promise<{ clone: RepositoryClone; files: ReadonlyMap<string, string> }>;
  /** Removes files, objects or not, with the next commit. Throws StoreFault. */
  removeFiles(paths: readonly string[]): Promise<void>;
  /** Changes the repository, and reads it again. Throws StoreFault. */
  change<Value>(work: (clone: RepositoryClone) => Promise<Value>): Promise<Value>;
}

/** Opens a repository, which is cloned on first use. */
export function createGitStore(options: GitStoreOptions): GitStore {
  const { address, access, clock, signal, pace } = options;
  const { maxPartBytes = MAX_PART_BYTES, maxPendingBytes = MAX_PENDING_BYTES } = access;
  const git = createGit({ ...access.environment, ...committer }, signal);
  // Changes are made one at a time.
  const inTurn = pLimit(1);
  let session: Session | null = null;
  let scratch: string | null = null;
  let failure: { error: StoreFault; count: number } | null = null;

  const guard = createFaultGuard(signal, (error) =>
    error instanceof GitError ? access.explain(address, error) : error,
  );
  const open = loadOnce(async () => {
    if (failure !== null && failure.count >= MAX_OPENINGS) throw failure.error;
    try {
      session = await guard(async () => {
        // Leftovers that cannot be removed only waste space: each session has its own folder.
        await sweepScratch(options.folder, clock.now());
        scratch ??= await makeScratch(options.folder);
        const gitDir = join(scratch, `clone-${failure?.count ?? 0}.git`);
        return openSession({ ...options, git }, scratch, gitDir);
      });
      return session;
    } catch (error) {
      if (error instanceof StoreFault) failure = { error, count: (failure?.count ?? 0) + 1 };
      throw error;
    }
  });

  async function create(
    opened: Session,
    key: string,
    path: string,
    file: { sizeBytes: number; sha256: string },
  ) {
    const { blobs, pending } = opened;
    const sizes = partSizes(file.sizeBytes, maxPartBytes);
    if (sizes === null) throw new StoreFault('other', `${address.text}: ${key} is too large`);
    const begun: string[] = [];
    const parts = await blobs.writeParts(key, { ...file, path }, sizes, async (part) => {
      const { bytes } = part;
      if (pending.bytes() > 0 && pending.bytes() + bytes > maxPendingBytes)
        await pushPending(options, opened);
      begun.push(part.path);
      pending.add(part.path, part.id, bytes);
    });
    if (parts === null) {
      for (const one of begun) pending.remove(one);
      throw new StoreFault(
        'damaged',
        `${address.text}: a file has changed and is not the one that was sent`,
      );
    }
    pending.objects().put(objectOf(key, parts));
  }

  /** If a part cannot be read, that part is at fault, not the store. */
  async function ofObject({ path }: { path: string }, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!mayBeObjectFault(error)) throw error;
      const reason = `${address.text}: ${path} cannot be read: ${withoutAddress(error.message)}`;
      throw new StoreFault('damaged', reason, { cause: error });
    }
  }
  const withoutAddress = (text: string) =>
    text.startsWith(`${address.text}: `) ? text.slice(address.text.length + 2) : text;

  async function* readParts(opened: Session, parts: readonly ObjectPart[], from: number) {
    let start = 0;
    for (const part of parts) {
      const skipped = Math.max(0, from - start);
      start += part.bytes;
      if (skipped >= part.bytes) continue;
      const file = join(opened.scratch, randomUUID());
      try {
        await ofObject(part, () =>
          guard(async () => {
            await opened.fetch([part]);
            // A small repository can contain a blob of zeros that fills the disk.
            const size = await opened.blobs.sizeOf(part.id);
            if (size !== part.bytes) {
              throw new StoreFault('damaged', `it has ${size} bytes, but its name says otherwise`);
            }
            await opened.blobs.copy(part.id, file);
          }),
        );
        yield* paced(createReadStream(file, { start: skipped, highWaterMark: 2 ** 20 }), pace);
      } finally {
        await rm(file, { force: true });
      }
    }
  }

  async function* list(prefix: string, after = ''): AsyncGenerator<StoredObject> {
    const opened = await open();
    const { pending } = opened;
    opened.times ??= await guard(() => readTimes(opened.clone, opened.clone.tip()));
    const { times } = opened;
    const now = clock.now();
    const readme = hasGuide(pending) && README_KEY.startsWith(prefix) && README_KEY > after;
    if (readme) yield { key: README_KEY, sizeBytes: readmeBytes().length, storedMs: now };
    // In order: `README.txt` sorts before `archives/`.
    const objects = pending.objects();
    for (const key of objects.keys(prefix, after)) {
      const found = objects.get(key);
      if (found === null) continue;
      const storedMs = Math.max(...found.parts.map(({ path }) => times.get(path) ?? now));
      yield { key, sizeBytes: found.sizeBytes, storedMs };
    }
  }

  return {
    address: address.text,
    list,
    async read(key, from = 0) {
      const opened = await open();
      if (key === README_KEY) {
        return hasGuide(opened.pending) ? chunksOf(readmeBytes().subarray(from)) : null;
      }
      const found = opened.pending.objects().get(key);
      return found === null ? null : readParts(opened, found.parts, from);
    },
    create: (key, file) =>
      inTurn(async () => {
        const opened = await open();
        return guard(async () => {
          if (key === README_KEY) return writeGuide(opened);
          if (opened.pending.objects().get(key) !== null) return false;
          await create(opened, key, file.path, file);
          return true;
        });
      }),
    remove: (key) =>
      inTurn(async () => {
        const { pending } = await open();
        for (const { path } of pending.objects().get(key)?.parts ?? []) pending.remove(path);
        pending.objects().remove(key);
      }),
    commit: () =>
      inTurn(async () => {
        const opened = session;
        // Nothing was changed.
        if (opened === null) return [];
        try {
          await guard(() => pushPending(options, opened));
        } catch (error) {
          await opened.blobs.forget(opened.pending.written());
          opened.pending.discard();
          throw error;
        }
        return opened.pending.takeLost();
      }),
    async prepare(keys) {
      const { pending, fetch } = await open();
      const parts = keys.flatMap((key) => pending.objects().get(key)?.parts ?? []);
      try {
        await guard(() => fetch(parts.filter(({ bytes }) => bytes <= MAX_PREPARED_BYTES)));
      } catch (error) {
        // Reading them one by one shows which one it is.
        if (!mayBeObjectFault(error)) throw error;
      }
    },
    async close() {
      if (scratch !== null) await removeScratch(scratch);
    },
    async inspect() {
      const opened = await open();
      return { clone: opened.clone, files: opened.pending.tip() };
    },
    removeFiles: (paths) =>
      inTurn(async () => {
        const { pending } = await open();
        for (const path of paths) pending.remove(path);
      }),
    change: (work) =>
      inTurn(async () => {
        const opened = await open();
        return guard(async () => {
          const value = await work(opened.clone);
          await opened.pending.read();
          opened.times = null;
          return value;
        });
      }),
  };
}

/** Whether what was requested may be at fault, such as a blob that the host does not have. */
function mayBeObjectFault(error: unknown): error is StoreFault {
  return error instanceof StoreFault && (error.kind === 'other' || error.kind === 'damaged');
}

/** Other stores have a README of their own; copies of this store get that one. */
function readmeBytes(): Buffer {
  return Buffer.from(formatReadme());
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
