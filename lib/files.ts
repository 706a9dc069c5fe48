import { type FileHandle, open, readFile, stat } from 'node:fs/promises';

/** Returns the result of a file system call, or null when the file does not exist. */
export async function nullIfMissing<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whether this is a file system error, such as EACCES or ENOSPC, which the user has to fix. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** There is something else where a file was expected. */
export class NotAFile extends Error {
  override readonly name = 'NotAFile';

  constructor(path: string) {
    super(`${path} is not a file: move it away`);
  }
}

/** Opens a file for reading. Throws NotAFile: opening a pipe waits for a writer, who may never come. */
export async function openFile(path: string): Promise<FileHandle> {
  if (!(await stat(path)).isFile()) throw new NotAFile(path);
  return open(path, 'r');
}

/** The text of a file; null if it is missing, or no file. */
export async function readIfFile(path: string): Promise<string | null> {
  const isFile = (await nullIfMissing(stat(path)))?.isFile() === true;
  return isFile ? nullIfMissing(readFile(path, 'utf8')) : null;
}

/** Advances the position of an open file, which child processes share. Throws if the file is too short. */
export async function skipBytes(handle: FileHandle, length: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(length, 2 ** 20));
  for (let left = length; left > 0; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(left, buffer.length), null);
    if (bytesRead === 0) throw new Error('the file is shorter than expected');
    left -= bytesRead;
  }
}

/**
 * Reads a file in chunks of at most 1 MiB. The next chunk is read while one is used. Two buffers take turns, so that a
 * large file takes no more memory than a small one: a chunk is overwritten after the next one was requested. Throws
 * NotAFile.
 */
export async function* readChunks(path: string): AsyncGenerator<Buffer, void, undefined> {
  const handle = await openFile(path);
  try {
    const { size } = await handle.stat();
    // Small files get small buffers: thousands of large ones are slow.
    const length = Math.min(Math.max(size, 2 ** 12), 2 ** 20);
    let [next, other] = [Buffer.allocUnsafe(length), Buffer.allocUnsafe(length)];
    const readNext = () => {
      const reading = handle.read(next, 0, length);
      // The error surfaces where this is awaited.
      reading.catch(() => undefined);
      return reading;
    };
    let reading = readNext();
    for (;;) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) return;
      const chunk = next.subarray(0, bytesRead);
      [next, other] = [other, next];
      reading = readNext();
      yield chunk;
    }
  } finally {
    await handle.close();
  }
}
