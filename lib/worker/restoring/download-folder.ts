import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import type { ReadState } from '../../stores/reading/read-state.ts';

/**
 * Makes a folder that nobody else can read: what is encrypted in the store is not, here. In a folder that others share,
 * such as /tmp, one of them may have made it first, or a link, and would get what was downloaded. Throws CONFLICT.
 */
export async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(folder);
  const isOwn =
    found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid());
  if (!isOwn) throw new AppError('CONFLICT', `${folder} is not a folder of this user: remove it`);
  await chmod(folder, 0o700);
}

/** Whether anything was downloaded into a folder. One with nothing in it is removed. */
export async function isKept(folder: string): Promise<boolean> {
  const names = await nullIfMissing(readdir(folder));
  if (names?.length === 0) await rmdir(folder);
  return names !== null && names.length > 0;
}

/** What the folder of a download is called: the same for each try, so that the next one goes on. */
export function nameOfDownload(storeId: string, { ref }: ReadState, target: string): string {
  const text = [storeId, ref.archiveName, target].join('\0');
  return `.download-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
