import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../config/read.ts';
import { nullIfMissing } from '../../files.ts';
import type { Log } from '../../log/log.ts';
import {
  describeHolder,
  findHolder,
  forgetHolder,
  noteHolder,
} from '../../processes/lock-holder.ts';
import { takeProcessLock } from '../../processes/process-lock.ts';

/** The major version whose files PGlite reads. */
const POSTGRES_VERSION = '18';

/** The locked directory with the embedded database's files. */
export interface DataDirectory {
  /** The folder for PGlite. */
  readonly folder: string;
  /** Call once PGlite has started in it: marks the files as complete and makes them private to the owner. */
  confirm(): Promise<void>;
  /** The error for files that Postgres cannot start with. */
  damaged(reason: string): ConfigError;
  release(): Promise<void>;
}

/** Another process has the data directory open. */
export class DirectoryInUse extends ConfigError {}

/**
 * Creates the data directory if necessary, locks it, and removes the remains of an interrupted first start.
 * Throws a one-line ConfigError when the directory cannot be used.
 */
export async function openDataDirectory(dataDir: string, log: Log): Promise<DataDirectory> {
  await prepare(dataDir, log);
  const lockFile = join(dataDir, 'lock.sqlite');
  const lock = await takeProcessLock(lockFile, 0);
  if (!lock.held) {
    if (lock.busy) throw new DirectoryInUse(describeUse(lockFile));
    throw new ConfigError(`DATA_DIR cannot be locked: ${lock.reason}`);
  }
  const folder = join(dataDir, 'postgres');
  // Exists while a new database is being created. Only a database with this marker is ever removed: it
  // holds no data yet.
  const unfinished = join(dataDir, 'postgres.unfinished');
  try {
    if ((await nullIfMissing(stat(unfinished))) !== null)
      await rm(folder, { recursive: true, force: true });
    setMode(lockFile, 0o600);
    noteHolder(lockFile);
    const files = await nullIfMissing(readdir(folder));
    if (files === null || files.length === 0) {
      await writeFile(unfinished, '');
      await mkdir(folder, { recursive: true, mode: 0o700 });
    } else {
      await checkVersion(dataDir, files);
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    await lock.release();
    throw error instanceof ConfigError ? error : unusable(error);
  }
  return {
    folder,
    async confirm() {
      makePrivate(folder);
      await rm(unfinished, { force: true });
    },
    damaged: (reason) => damaged(dataDir, `is damaged (${reason.slice(0, 200)})`),
    release() {
      forgetHolder(lockFile);
      return lock.release();
    },
  };
}

function describeUse(lockFile: string): string {
  const holder = findHolder(lockFile);
  if (holder === null) return 'DATA_DIR is in use by another process';
  return `DATA_DIR is in use by another process: ${describeHolder(holder)}. Stop it (kill ${holder.pid}), or set another DATA_DIR`;
}

/** Without this check PGlite would create a new database over files that lack PG_VERSION. */
async function checkVersion(dataDir: string, files: string[]): Promise<void> {
  if (!files.includes('PG_VERSION')) throw damaged(dataDir, 'is damaged (PG_VERSION is missing)');
  const version = (await readFile(join(dataDir, 'postgres/PG_VERSION'), 'latin1')).trim();
  if (version === POSTGRES_VERSION) return;
  if (!/^\d{1,3}(?:\.\d+)?$/.test(version)) {
    throw damaged(dataDir, 'is damaged (PG_VERSION contains no version)');
  }
  throw damaged(dataDir, `is of Postgres ${version}, and this version reads ${POSTGRES_VERSION}`);
}

/** An error that states what is wrong with the database and how to recover. */
function damaged(dataDir: string, fault: string): ConfigError {
  const folder = join(dataDir, 'postgres');
  return new ConfigError(
    `the embedded database in ${folder} ${fault}. Nothing was deleted. Move that folder aside, then start \
again with an empty database, or put a copy of it back first; the archives in ${join(dataDir, 'archives')} \
are not touched (see docs/operate.md#recover-a-damaged-database)`,
  );
}

async function prepare(dataDir: string, log: Log): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(error);
  }
  if (process.platform === 'win32') return;
  setMode(dataDir, 0o700);
  // It may belong to another user, like a container volume. The files in it have their own permissions.
  if (((await stat(dataDir)).mode & 0o077) !== 0) log.warn('DATA_DIR is open to other users');
}

/** Makes a folder and its contents accessible to the owner only. PGlite creates files with the default umask. */
function makePrivate(folder: string): void {
  setMode(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makePrivate(path);
    else if (entry.isFile()) setMode(path, 0o600);
  }
}

/** Sets a file's mode. Does nothing on Windows. */
function setMode(path: string, mode: number): void {
  if (process.platform === 'win32') return;
  const { mode: found, uid } = lstatSync(path);
  // Only the owner of a file can change its mode.
  if ((found & 0o777) !== mode && uid === process.getuid?.()) chmodSync(path, mode);
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
