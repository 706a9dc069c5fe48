import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { nullIfMissing } from '../../files.ts';

/** An open file. */
export interface OpenFile {
  handle: FileHandle;
  sizeBytes: number;
  /** When it was last written, in milliseconds since the epoch. */
  modifiedAt: number;
}

/** Opens a file inside `root`, a path without links; null if it is missing, is not a file, or is outside. */
export async function openInside(root: string, name: string): Promise<OpenFile | null> {
  if (name.includes('\0') || !isInside(root, resolve(root, name))) return null;
  const path = await findInside(root, join(root, name));
  if (path === null) return null;
  // O_NONBLOCK: do not wait for a writer if it is a pipe.
  const handle = await nullIfMissing(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  if (handle === null) return null;
  try {
    const opened = await handle.stat({ bigint: true });
    if (opened.isFile() && (await isStillInside(root, path, opened))) {
      return { handle, sizeBytes: Number(opened.size), modifiedAt: Number(opened.mtimeMs) };
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

/** The text of a file inside `root`; null if there is none, or if it is longer than `maxBytes`. */
export async function readInside(
  root: string,
  name: string,
  maxBytes: number,
): Promise<string | null> {
  const file = await openInside(root, name);
  if (file === null) return null;
  try {
    // One byte more than its size, in case it grows while it is read.
    const room = Math.min(file.sizeBytes, maxBytes) + 1;
    const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(room), 0, room, 0);
    return bytesRead === room ? null : buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.handle.close();
  }
}

/** The names in a folder inside `root`, or in `root` itself (`.`); none if it is missing or leads out of it. */
export async function listInside(root: string, folder: string): Promise<string[]> {
  const path = join(root, folder);
  const real = path === root ? root : await findInside(root, path);
  try {
    return real === null ? [] : await readdir(real);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

/** Whether the path still leads to the open file, and no link was inserted after the first check. */
async function isStillInside(
  root: string,
  path: string,
  opened: { dev: bigint; ino: bigint },
): Promise<boolean> {
  const now = await findInside(root, path);
  const found = now === null ? null : await nullIfMissing(stat(now, { bigint: true }));
  return found !== null && found.dev === opened.dev && found.ino === opened.ino;
}

/** The path without links; null if it is missing or leads out of the root. */
async function findInside(root: string, path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return isInside(root, real) ? real : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Circular links, a file in place of a folder, or an invalid name.
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENAMETOOLONG'].includes(code ?? '')) return null;
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
