import { statfs } from 'node:fs/promises';
import { formatBytes } from '../../text/units.ts';

/** Too little space for a repository. */
export class DiskFull extends Error {
  override readonly name = 'DiskFull';
}

/** The space of a folder's file system, shared by repositories that are fetched at once. */
export interface DiskRoom {
  /**
   * Sets space aside until the returned function is called. Throws DiskFull if there is not enough, file system
   * errors if it cannot be read.
   */
  reserve(bytes: number): Promise<() => void>;
}

/** Counts what `folder` has left; `read` gives the free bytes. */
export function createDiskRoom(folder: string, read = readFreeBytes): DiskRoom {
  let reserved = 0;
  return {
    async reserve(bytes) {
      if (bytes === 0) return () => undefined;
      const free = await read(folder);
      if (bytes > free - reserved) {
        const others = reserved === 0 ? '' : `, of which others need ${formatBytes(reserved)}`;
        throw new DiskFull(
          `not enough disk space: about ${formatBytes(bytes)} needed, ${formatBytes(free)} free${others}`,
        );
      }
      reserved += bytes;
      let isOpen = true;
      return () => {
        if (isOpen) reserved -= bytes;
        isOpen = false;
      };
    },
  };
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/**
 * Bytes that fetching a repository needs at most: what it has grown since its last archive, once for the
 * objects and once for the archive. 0 if the git host does not report a size.
 */
export function neededBytes(sizeBytes: number | null, archivedBytes: number): number {
  return sizeBytes === null ? 0 : 2 * Math.max(0, sizeBytes - archivedBytes);
}
