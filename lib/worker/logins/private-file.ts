import { chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Says something to the person, on stderr. */
export type Notify = (text: string) => void;

/**
 * Replaces a file in one step with one that only its owner can read: written whole beside it, synced and
 * renamed. Throws Error of the file system, and the old file is then as it was.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = await writeDraft(path, text);
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await sync(dirname(path));
}

/** Finds out whether a file of this length could be replaced now, and leaves nothing. Throws as above. */
export async function rehearsePrivateFile(path: string, text: string): Promise<void> {
  await rm(await writeDraft(path, text));
}

/**
 * Removes what processes that were killed while they replaced the file left beside it: copies of its
 * secrets. Nobody else may be replacing it. Throws as above.
 */
export async function removeDrafts(path: string): Promise<void> {
  const isDraft = (name: string) => name.startsWith(`.${basename(path)}.`);
  for (const name of (await readdir(dirname(path))).filter(isDraft)) {
    await rm(join(dirname(path), name), { force: true });
  }
}

/** Makes a folder that only its owner can enter, unless it is there. Throws Error of the file system. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Takes from everybody else what they may do with a file or folder, and says so. */
export async function mendMode(path: string, mode: 0o600 | 0o700, notify: Notify): Promise<void> {
  // Windows has no such modes.
  if (process.platform === 'win32') return;
  const found = (await stat(path)).mode & 0o777;
  if ((found & 0o077) === 0) return;
  const [was, is] = [found, mode].map((bits) => `0${bits.toString(8)}`);
  try {
    await chmod(path, mode);
    notify(`warning: ${path} had the mode ${was}, open to others; it is ${is} now`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    notify(`warning: ${path} has the mode ${was}, open to others, and cannot be mended (${code})`);
  }
}

async function writeDraft(path: string, text: string): Promise<string> {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.${crypto.randomUUID()}`);
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return draft;
}

async function sync(folder: string): Promise<void> {
  // Windows cannot open a folder.
  if (process.platform === 'win32') return;
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
