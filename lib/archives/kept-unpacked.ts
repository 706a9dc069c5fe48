import { rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratch, removeScratch } from '../processes/scratch.ts';
import type { OpenArchive } from './base/open-archive.ts';

/** The most recently unpacked archives, kept for the next file that is opened. Larger ones are unpacked each time. */
export interface KeptUnpacked {
  /** The repository with an archive's objects; null if it is not kept. */
  borrow(id: string): BorrowedRepository | null;
  /** Stops lending a repository. */
  forget(id: string): void;
  /** Takes over a repository of `bytes`, unless it is too large, and lends it. */
  keep(id: string, gitDir: string, bytes: number): Promise<BorrowedRepository>;
}

/** A repository that stays in place until it is returned. */
export interface BorrowedRepository {
  gitDir: string;
  giveBack(): void;
}

interface Kept {
  folder: string;
  gitDir: string;
  bytes: number;
  users: number;
  isDropped: boolean;
  timer?: NodeJS.Timeout;
}

const KEPT_MS = 10 * 60_000;
const MAX_KEPT_BYTES = 2 * 2 ** 30;
const MAX_KEPT = 8;

/** Keeps repositories in scratch folders below `scratchFolder` for ten minutes after their last use. */
export function createKeptUnpacked(scratchFolder: string): KeptUnpacked {
  /** By archive, the most recently used last. */
  const kept = new Map<string, Kept>();

  const removeUnused = ({ folder, users, isDropped }: Kept) => {
    // What cannot be removed is tried again when this process exits.
    if (isDropped && users === 0) removeScratch(folder).catch(() => undefined);
  };
  const drop = (id: string, one: Kept) => {
    clearTimeout(one.timer);
    one.isDropped = true;
    kept.delete(id);
    removeUnused(one);
  };
  const lend = (id: string, one: Kept): BorrowedRepository => {
    clearTimeout(one.timer);
    kept.delete(id);
    kept.set(id, one);
    one.users++;
    return {
      gitDir: one.gitDir,
      giveBack() {
        one.users--;
        removeUnused(one);
        if (one.isDropped || one.users > 0) return;
        one.timer = setTimeout(() => drop(id, one), KEPT_MS).unref();
      },
    };
  };

  return {
    borrow(id) {
      const one = kept.get(id);
      return one === undefined ? null : lend(id, one);
    },
    forget(id) {
      const one = kept.get(id);
      if (one !== undefined) drop(id, one);
    },
    async keep(id, gitDir, bytes) {
      const stays = { gitDir, giveBack: () => undefined };
      const { bavail, bsize } = await statfs(gitDir);
      // The disk space that others need comes first.
      if (bytes > MAX_KEPT_BYTES || bavail * bsize < 2 * MAX_KEPT_BYTES) return stays;
      const folder = await makeScratch(scratchFolder);
      const one = { folder, gitDir: join(folder, 'kept.git'), bytes, users: 0, isDropped: false };
      await rename(gitDir, one.gitDir);
      const before = kept.get(id);
      if (before !== undefined) drop(id, before);
      let sum = bytes + [...kept.values()].reduce((total, other) => total + other.bytes, 0);
      for (const [otherId, other] of [...kept]) {
        if (sum <= MAX_KEPT_BYTES && kept.size < MAX_KEPT) break;
        sum -= other.bytes;
        drop(otherId, other);
      }
      return lend(id, one);
    },
  };
}

/** Identifies an archive in its present state, by what the file system knows about its files. */
export async function identifyArchive({ handle, increments }: OpenArchive): Promise<string> {
  const handles = [handle, ...increments.flatMap(({ file }) => file?.handle ?? [])];
  const found = await Promise.all(handles.map((one) => one.stat({ bigint: true })));
  return found
    .map(({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'))
    .join(' ');
}
