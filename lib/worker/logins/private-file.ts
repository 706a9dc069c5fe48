import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncFile, syncHandle } from '../../durable-files.ts';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';

/** Prints a line for the user to stderr. */
export type Notify = (text: string) => void;

/** A file that only its owner can read, and that is always replaced as a whole. */
interface PrivateFile {
  /** Null if it does not exist. Restricts modes that give access to others. */
  read(): Promise<string | null>;
  /** Replaces the file. If that fails, it is unchanged. */
  write(text: string): Promise<void>;
  /** Throws if `write` would fail for a text of this length, and changes nothing. */
  rehearse(text: string): Promise<void>;
  /** False if it did not exist. */
  remove(): Promise<boolean>;
  /** Creates the folder, readable only by its owner. */
  createFolder(): Promise<void>;
  /**
   * Removes temporary files of killed processes, which contain secrets. No other process may be replacing the
   * file.
   */
  removeDrafts(): Promise<void>;
}

/** Every call throws CREDENTIAL_STORAGE_UNAVAILABLE for file system errors. */
export function openPrivateFile(path: string, notify: Notify): PrivateFile {
  const folder = dirname(path);
  const draftPrefix = `.${basename(path)}.`;

  async function attempt<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      throw storageUnavailable(`${path} cannot be used (${code})`, error);
    }
  }

  const removeDrafts = () =>
    attempt(async () => {
      for (const name of (await nullIfMissing(readdir(folder))) ?? []) {
        if (name.startsWith(draftPrefix)) await rm(join(folder, name), { force: true });
      }
    });

  /** Writes and syncs a temporary file next to the file and returns its path. */
  async function writeDraft(text: string): Promise<string> {
    const draft = join(folder, `${draftPrefix}${process.pid}.${crypto.randomUUID()}`);
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await syncHandle(file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return draft;
  }

  return {
    removeDrafts,
    read: () =>
      attempt(async () => {
        const text = await nullIfMissing(readFile(path, 'utf8'));
        if (text === null) return null;
        await tightenMode(folder, 0o700, notify);
        await tightenMode(path, 0o600, notify);
        return text;
      }),
    write: (text) =>
      attempt(async () => {
        const draft = await writeDraft(text);
        try {
          await rename(draft, path);
        } catch (error) {
          await rm(draft, { force: true });
          throw error;
        }
        // Windows cannot sync folders.
        if (process.platform !== 'win32') await syncFile(folder);
      }),
    rehearse: (text) => attempt(async () => rm(await writeDraft(text))),
    remove: () =>
      attempt(async () => {
        await removeDrafts();
        return (await nullIfMissing(rm(path).then(() => true))) ?? false;
      }),
    createFolder: () =>
      attempt(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await tightenMode(folder, 0o700, notify);
      }),
  };
}

export function storageUnavailable(message: string, cause?: unknown): AppError {
  return new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', message, { cause });
}

/** Removes the permissions of everyone but the owner, and notifies the user. */
async function tightenMode(path: string, mode: 0o600 | 0o700, notify: Notify): Promise<void> {
  // Windows has no such modes.
  if (process.platform === 'win32') return;
  const found = (await stat(path)).mode & 0o777;
  if ((found & 0o077) === 0) return;
  const [was, is] = [found, mode].map((bits) => `0${bits.toString(8)}`);
  try {
    await chmod(path, mode);
    notify(`warning: ${path} had mode ${was}, open to others; it is now ${is}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    notify(`warning: ${path} has mode ${was}, open to others, which cannot be changed (${code})`);
  }
}
