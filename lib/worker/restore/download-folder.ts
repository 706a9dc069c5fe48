import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { restrict } from '../../durable-files.ts';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import type { ReadState } from '../../stores/reading/read-state.ts';

/**
 * Creates a folder that nobody else can read, because files that are encrypted in the store are decrypted here. In a
 * shared folder such as /tmp, another user may have created it first, or put a link there, and would get the downloads.
 * Throws CONFLICT.
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
  await restrict(folder, 0o700);
}

/** Whether a folder contains any downloads. Removes it if it is empty. */
export async function isKept(folder: string): Promise<boolean> {
  const names = await nullIfMissing(readdir(folder));
  if (names?.length === 0) await rmdir(folder);
  return names !== null && names.length > 0;
}

/** The name of a download's folder. It is the same for each attempt, so that the next one resumes. */
export function downloadFolderName(storeId: string, { ref }: ReadState, target: string): string {
  const text = [storeId, ref.archiveName, target].join('\0');
  return `.download-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
