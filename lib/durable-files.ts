import { randomUUID } from 'node:crypto';
import { link, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nullIfMissing } from './files.ts';

/** Error codes of file systems without hard links. */
const noLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Moves a file to an unused name. Returns false, without moving it, if the name is taken. */
export async function moveNew(from: string, to: string): Promise<boolean> {
  try {
    // Unlike `rename`, this never replaces a file that another repository has just created.
    await link(from, to);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!noLinks.includes(code)) throw error;
    if ((await nullIfMissing(stat(to))) !== null) return false;
    await rename(from, to);
    return true;
  }
  await rm(from);
  return true;
}

/** Flushes a file or folder to the disk. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file that only its owner can read. Readers find either the old text or the complete new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  // Not the file's own name with a suffix, which may be too long.
  const draft = join(dirname(path), `.${randomUUID()}.new`);
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await syncFile(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  // Windows cannot sync folders.
  if (process.platform !== 'win32') await syncFile(dirname(path));
}
