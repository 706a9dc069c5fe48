import { open } from 'node:fs/promises';

/** Pieces of a download are a few KiB, and writing each one costs more than receiving it. */
const WRITE_BYTES = 2 ** 20;

/** A file that is written a mebibyte at a time. */
export interface GatheringFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Writes the rest first. */
  close(): Promise<void>;
}

/** Opens a file that only its owner can read, to write (`w`) or to add to (`a`). Throws file system errors. */
export async function openGathering(path: string, flags: 'w' | 'a'): Promise<GatheringFile> {
  const handle = await open(path, flags, 0o600);
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const flush = async () => {
    const gathered = waiting;
    waiting = [];
    waitingBytes = 0;
    if (gathered.length > 0) await handle.writeFile(Buffer.concat(gathered));
  };
  return {
    async write(bytes) {
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= WRITE_BYTES) await flush();
    },
    async close() {
      try {
        await flush();
      } finally {
        await handle.close();
      }
    },
  };
}
