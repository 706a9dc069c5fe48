import { randomUUID } from 'node:crypto';
import {
  chmod,
  type FileHandle,
  link,
  open,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nullIfMissing } from './files.ts';
import { flushing } from './processes/file-calls.ts';

/** Error codes of calls that a file system does not have: shares, FUSE and some NAS lack one or the other. */
const lacking = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EPERM']);

function isLacking(error: unknown): boolean {
  return lacking.has((error as NodeJS.ErrnoException).code ?? '');
}

/** EPERM may also refuse a change of this file. It is a lack if a new file in the same folder gets it too. */
async function isLackOf(lack: Lack, path: string, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== 'EPERM') return isLacking(error);
  return (await findLacks(dirname(path))).includes(lack);
}

/** Moves a file to an unused name. Returns false, without moving it, if the name is taken. */
export async function moveNew(from: string, to: string): Promise<boolean> {
  try {
    // Unlike `rename`, this never replaces a file that another repository has just created.
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code !== 'EMLINK' && !(await isLackOf('links', to, error))) throw error;
    if ((await nullIfMissing(stat(to))) !== null) return false;
    await rename(from, to);
    return true;
  }
  await rm(from);
  return true;
}

/** Flushes a file or folder to the disk, if its file system can do that. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await syncHandle(handle);
  } finally {
    await handle.close();
  }
}

/** Flushes an open file to the disk, if its file system can do that. */
export async function syncHandle(handle: FileHandle): Promise<void> {
  try {
    await flushing(() => handle.sync());
  } catch (error) {
    if (!isLacking(error)) throw error;
  }
}

/** Sets who may use a file or folder, if its file system knows permissions. */
export async function restrict(path: string, mode: number): Promise<void> {
  try {
    await chmod(path, mode);
  } catch (error) {
    if (!(await isLackOf('permissions', path, error))) throw error;
  }
}

/** Sets the modification time of a file, if its file system can do that. */
export async function setTime(path: string, ms: number): Promise<void> {
  try {
    await utimes(path, ms / 1_000, ms / 1_000);
  } catch (error) {
    if (!isLacking(error)) throw error;
  }
}

/** What a file system may lack: flushing to the disk, hard links, permissions. */
export type Lack = 'fsync' | 'links' | 'permissions';

/** Tries out what the file system of a folder lacks. Throws other file system errors. */
export async function findLacks(folder: string): Promise<Lack[]> {
  const path = join(folder, `.${randomUUID()}.new`);
  const lacks: Lack[] = [];
  const attempt = async (lack: Lack, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!isLacking(error)) throw error;
      lacks.push(lack);
    }
  };
  const handle = await open(path, 'wx', 0o600);
  try {
    await attempt('fsync', () => handle.sync());
    await attempt('links', () => link(path, `${path}-2`));
    await attempt('permissions', () => chmod(path, 0o600));
    // Some accept every change of permissions and ignore it.
    const isOpen = process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0;
    if (isOpen && !lacks.includes('permissions')) lacks.push('permissions');
  } finally {
    await handle.close();
    await rm(path, { force: true });
    await rm(`${path}-2`, { force: true });
  }
  return lacks;
}

const meanings: Record<Lack, string> = {
  fsync:
    'it cannot flush files to the disk (fsync), so a power failure may damage what was just written',
  links:
    'it has no hard links, so two workers that use the folder at the same time could replace a new file of each other',
  permissions:
    'it has no permissions (chmod), so everybody who can read the mount can read what is in it',
};

/** What the file system of a folder lacks, and what that means, as a sentence. Null if it lacks nothing. */
export function describeLacks(folder: string, lacks: readonly Lack[]): string | null {
  if (lacks.length === 0) return null;
  return `the file system of ${folder} does less than others: ${lacks.map((one) => meanings[one]).join('; ')}`;
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
