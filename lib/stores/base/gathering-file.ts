import { open } from 'node:fs/promises';

/** Pieces of a download are a few KiB each, and writing one costs more than receiving it. */
const WRITE_BYTES = 2 ** 20;
/** A small file gets a small buffer: allocating thousands of large ones is slow. */
const MIN_BUFFER_BYTES = 2 ** 12;

/** A file that is written in pieces of 1 MiB. */
export interface GatheringFile {
  /** Copies the bytes, and waits only if the disk falls behind. Throws the error of an earlier write, too. */
  write(bytes: Uint8Array): Promise<void>;
  /** Writes the rest before closing. */
  close(): Promise<void>;
}

/**
 * Opens a file that only its owner can read, for writing (`w`) or appending (`a`). `sizeBytes` is the approximate size
 * of what will be written. Throws file system errors.
 */
export async function openGathering(
  path: string,
  flags: 'w' | 'a',
  sizeBytes: number,
): Promise<GatheringFile> {
  const handle = await open(path, flags, 0o600);
  const size = Math.min(WRITE_BYTES, Math.max(MIN_BUFFER_BYTES, sizeBytes));
  // One buffer is filled while the other is written.
  let filling: Buffer = Buffer.allocUnsafe(size);
  let other: Buffer | null = null;
  let used = 0;
  let writing = Promise.resolve();
  const flush = async () => {
    await writing;
    writing = handle.writeFile(filling.subarray(0, used));
    // The error surfaces with the next write or close.
    writing.catch(() => undefined);
    [filling, other] = [other ?? Buffer.allocUnsafe(size), filling];
    used = 0;
  };
  return {
    async write(bytes) {
      for (let at = 0; at < bytes.length; ) {
        if (used === size) await flush();
        const part = bytes.subarray(at, at + size - used);
        filling.set(part, used);
        used += part.length;
        at += part.length;
      }
    },
    async close() {
      try {
        if (used > 0) await flush();
        await writing;
      } finally {
        await handle.close();
      }
    },
  };
}
