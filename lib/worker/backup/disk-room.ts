import { statfs } from 'node:fs/promises';
import { formatBytes } from '../../text/units.ts';

/** There is too little space for a repository. */
export class DiskFull extends Error {
  override readonly name = 'DiskFull';
}

/** The free space of a folder's file system, shared by repositories that are fetched at once. */
export interface DiskRoom {
  /**
   * Reserves space until the returned function is called. Throws DiskFull if there is not enough, and file system
   * errors if it cannot be determined.
   */
  reserve(bytes: number): Promise<() => void>;
}

/** Tracks the free space of `folder`; `read` returns the free bytes. */
export function createDiskRoom(folder: string, read = readFreeBytes): DiskRoom {
  let reserved = 0;
  return {
    async reserve(bytes) {
      if (bytes === 0) return () => undefined;
      const free = await read(folder);
      if (bytes > free - reserved) {
        const others =
          reserved === 0 ? '' : `, of which other repositories need ${formatBytes(reserved)}`;
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
 * An upper bound of the bytes that fetching a repository needs: its growth since the last archive, once for the objects
 * and once for the archive. 0 if the git host does not report a size.
 */
export function neededBytes(sizeBytes: number | null, archivedBytes: number): number {
  return sizeBytes === null ? 0 : 2 * Math.max(0, sizeBytes - archivedBytes);
}
