import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { loadOnce } from '../async.ts';
import type { FolderAddress } from '../config/stores/store-address.ts';
import { moveNew, syncFile } from '../durable-files.ts';
import { isSystemError, nullIfMissing } from '../files.ts';
import {
  currentLimitMs,
  doesAnswer,
  openFileCalls,
  UnansweredCall,
} from '../processes/file-calls.ts';
import { formatDuration } from '../text/units.ts';
import { createFaultGuard } from './base/fault-guard.ts';
import {
  type ObjectFile,
  type ObjectStore,
  type StoredObject,
  StoreFault,
  type StoreFaultKind,
} from './base/object-store.ts';
import { paced } from './base/pace.ts';

/** Prefix of files that are still being written and are not objects yet. */
const TEMPORARY = '.new-';
const CHUNK_BYTES = 2 ** 20;

/** Keeps objects as files in an existing folder: if a disk is not mounted, nothing is written to its mount point. */
export function createFolderStore(
  { path: root, text: address }: FolderAddress,
  { signal, pace }: { signal: AbortSignal; pace(bytes: number): Promise<void> },
): ObjectStore {
  const fault = (kind: StoreFaultKind, reason: string, cause?: unknown) =>
    new StoreFault(kind, `${address}: ${reason}`, { cause });
  const limitMs = currentLimitMs();
  const isDead = async () => !(await doesAnswer(root, limitMs ?? 0));
  const calls = limitMs === null ? null : openFileCalls(limitMs, { signal, isDead });
  const explain = (error: unknown) => {
    if (error instanceof UnansweredCall) {
      const reason = `no answer for ${formatDuration(error.limitMs)}: is the disk or network drive connected?`;
      return fault('away', reason, error);
    }
    return isSystemError(error) ? fault(kindOf(error.code), describe(error), error) : error;
  };
  // Before anything of this process waits for it.
  const ask = loadOnce(async () => {
    if (limitMs !== null && (await isDead())) throw new UnansweredCall(limitMs);
  });
  const guard = createFaultGuard(signal, explain, async (work) => {
    await ask();
    return calls === null ? work() : calls.watch(work);
  });
  /** Such as `ENOSPC (no space left on device): archives/ada__app/objects/4bf5…`. */
  const describe = (error: NodeJS.ErrnoException) => {
    const [, words] = /^\w+: ([^,]+)/.exec(error.message) ?? [];
    const text = `${error.code ?? 'error'}${words === undefined ? '' : ` (${words})`}`;
    const place = error.path?.startsWith(`${root}/`) ? error.path.slice(root.length + 1) : '';
    return place === '' ? text : `${text}: ${shorten(place)}`;
  };
  const checkRoot = async () => {
    const found = await nullIfMissing(stat(root));
    if (!found?.isDirectory()) throw fault('missing', 'there is no such folder: is it mounted?');
  };
  /** Opened as a folder, a bare git repository would look like an empty store. */
  const checkKind = async () => {
    const isThere = async (name: string) => (await nullIfMissing(stat(join(root, name)))) !== null;
    if ((await isThere('HEAD')) && (await isThere('objects')) && (await isThere('refs')))
      throw fault('other', `it is a git repository, whose address is git+${address}`);
  };

  async function* list(prefix: string, after = ''): AsyncGenerator<StoredObject> {
    await guard(checkRoot);
    await guard(checkKind);
    const cut = prefix.lastIndexOf('/') + 1;
    yield* walk(prefix.slice(0, cut), prefix, after);
  }

  async function* walk(
    folder: string,
    prefix: string,
    after: string,
  ): AsyncGenerator<StoredObject> {
    const entries = await guard(async () =>
      nullIfMissing(readdir(join(root, folder), { withFileTypes: true })),
    );
    // In the order of whole keys, where a folder's name ends with a slash.
    const named = (entries ?? [])
      .map((entry) => ({ entry, key: `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}` }))
      .sort((one, other) => (one.key < other.key ? -1 : 1));
    for (const { entry, key } of named) {
      if (entry.isDirectory()) {
        const isBelow = key.startsWith(prefix) || prefix.startsWith(key);
        if (isBelow && (key > after || after.startsWith(key))) yield* walk(key, prefix, after);
      } else if (entry.isFile() && !entry.name.startsWith(TEMPORARY)) {
        if (!key.startsWith(prefix) || key <= after) continue;
        const found = await guard(() => nullIfMissing(stat(join(root, key))));
        if (found !== null) yield { key, sizeBytes: found.size, storedMs: found.mtimeMs };
      }
    }
  }

  return {
    address,
    list,
    read: (key, from = 0) =>
      guard(async () => {
        await checkRoot();
        const path = join(root, key);
        if (!(await nullIfMissing(stat(path)))?.isFile()) return null;
        // A disk can be disconnected while it is read.
        return guard.bytes(readPaced(path, from));
      }),
    create: (key, file) =>
      guard(async () => {
        await checkRoot();
        const path = join(root, key);
        if ((await nullIfMissing(stat(path))) !== null) return false;
        await makeFolders(dirname(path));
        const temporary = join(dirname(path), `${TEMPORARY}${randomUUID()}`);
        try {
          await copy(file, temporary);
          const isNew = await moveNew(temporary, path);
          await syncFile(dirname(path));
          return isNew;
        } finally {
          await rm(temporary, { force: true });
        }
      }),
    remove: (key) =>
      guard(async () => {
        await checkRoot();
        await rm(join(root, key), { force: true });
      }),
  };

  function readPaced(path: string, from: number): AsyncGenerator<Uint8Array> {
    return paced(createReadStream(path, { start: from, highWaterMark: CHUNK_BYTES }), pace);
  }

  async function makeFolders(folder: string): Promise<void> {
    if (folder === root) return;
    await makeFolders(dirname(folder));
    const found = await nullIfMissing(lstat(folder));
    // Anyone with write access could redirect this machine to another folder.
    if (found?.isSymbolicLink()) {
      throw fault(
        'other',
        `${shorten(folder.slice(root.length + 1))} is a link, which is not followed`,
      );
    }
    if (found?.isDirectory()) return;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await syncFile(dirname(folder));
  }

  async function copy({ path, sha256 }: ObjectFile, to: string): Promise<void> {
    const target = createWriteStream(to, { flags: 'wx', mode: 0o600 });
    await pipeline(readPaced(path, 0), target, { signal });
    await syncFile(to);
    const hash = createHash('sha256');
    await pipeline(createReadStream(to, { highWaterMark: CHUNK_BYTES }), hash, { signal });
    if (hash.digest('hex') !== sha256) {
      throw fault('damaged', 'a file written there differs from the one that was sent');
    }
  }
}

/** Names created by others can be long. */
function shorten(place: string): string {
  return place.length > 300 ? `${place.slice(0, 300)}…` : place;
}

function kindOf(code: string | undefined): StoreFaultKind {
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'denied';
  if (code === 'ENOENT') return 'missing';
  return code === undefined || code === 'EISDIR' || code === 'ENOTDIR' ? 'other' : 'away';
}
