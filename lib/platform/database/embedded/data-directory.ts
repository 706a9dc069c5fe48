import { access, constants, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../config/read.ts';
import { lockDataDirectory } from './data-directory-lock.ts';

/** The place of the embedded database's files, for this process alone. */
export interface DataDirectory {
  /** The folder for PGlite. */
  readonly folder: string;
  /** To be called once PGlite has started in it. */
  confirm(): Promise<void>;
  release(): Promise<void>;
}

/**
 * Makes the data directory where it is missing, locks it, and clears away a first start that was
 * interrupted. Throws ConfigError with one line when it cannot be used.
 */
export async function openDataDirectory(dataDir: string): Promise<DataDirectory> {
  await prepare(dataDir);
  const lock = await lockDataDirectory(dataDir);
  const folder = join(dataDir, 'postgres');
  // Present from before the first file of a new database until it is complete. Only what lies beside
  // this mark is ever removed: nobody has written to it yet.
  const unfinished = join(dataDir, 'postgres.unfinished');
  try {
    if (await exists(unfinished)) await rm(folder, { recursive: true, force: true });
    if (!(await exists(folder))) {
      await writeFile(unfinished, '');
      await mkdir(folder, { mode: 0o700 });
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    await lock.release();
    throw unusable(error);
  }
  return {
    folder,
    confirm: () => rm(unfinished, { force: true }),
    release: () => lock.release(),
  };
}

async function prepare(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(error);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function unusable(error: unknown): ConfigError {
  const { code } = error as NodeJS.ErrnoException;
  const reason =
    code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
      ? 'is not writable'
      : code === 'ENOTDIR' || code === 'EEXIST'
        ? 'is not a directory'
        : `cannot be used (${code ?? String(error)})`;
  return new ConfigError(`DATA_DIR ${reason}`, { cause: error });
}
