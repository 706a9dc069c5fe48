import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rmdir, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { archivePath, archiveVariables } from '../../lib/config/archives.ts';
import { databaseVariables } from '../../lib/config/database.ts';
import { configFolder, gitHostVariables } from '../../lib/config/git-host.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import { restrict, syncHandle } from '../../lib/durable-files.ts';
import { AppError } from '../../lib/errors.ts';
import { isSystemError, nullIfMissing, readChunks } from '../../lib/files.ts';
import { parseJson } from '../../lib/json.ts';
import { tryProcessLock } from '../../lib/processes/instant-lock.ts';
import {
  describeHolder,
  findHolder,
  forgetHolder,
  noteHolder,
} from '../../lib/processes/lock-holder.ts';
import { takeProcessLock } from '../../lib/processes/process-lock.ts';
import { findServer } from '../running-server.ts';

/** The parts of an installation. Each is a folder of the packed one. */
export const parts = ['data', 'archives', 'config', 'start'] as const;
export type Part = (typeof parts)[number];

/** Where each part is on a machine. */
export type Places = Record<Part, string>;

/** The files of logins, in the part `config`. Any other file there is of age identities. */
export const loginFiles: readonly string[] = ['app.json', 'credentials.json'];

/** The file that lists all others. It is written last. */
export const MANIFEST = 'manifest.json';
/** Exists while a folder is being packed. */
export const UNFINISHED = '.unfinished';

const MAX_MANIFEST_BYTES = 512 * 2 ** 20;

/** A relative path below its part, with `/`, that leads nowhere else on any system. */
const path = z
  .string()
  .max(4_096)
  .refine(
    (text) => text.split('/').every((name) => !['', '.', '..'].includes(name)),
    'must be a relative path',
  )
  .refine(
    (text) => !(process.platform === 'win32' ? /[\\:\0]/ : /\0/).test(text),
    'must be a name that this system allows',
  );

const packedFile = z.object({
  part: z.enum(parts),
  path,
  size: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Permissions on the old machine. */
  mode: z.int().min(0).max(0o777),
  /** When it was changed, in milliseconds since the epoch: the notes of archives record it. */
  modified_ms: z.int(),
});
export type PackedFile = z.output<typeof packedFile>;

const manifest = z.object({
  format: z.literal('backup-observatory-move'),
  format_version: z.literal(1),
  /** Of Backup Observatory. */
  version: z.string(),
  packed_at: z.iso.datetime(),
  files: z.array(packedFile),
  /** Empty folders, without which Postgres does not start. */
  folders: z.array(packedFile.pick({ part: true, path: true })),
});
export type Manifest = z.output<typeof manifest>;

/** Reads the manifest of a packed folder. Throws BAD_REQUEST if the folder is incomplete or none. */
export async function readPackManifest(folder: string): Promise<Manifest> {
  if ((await nullIfMissing(lstat(join(folder, UNFINISHED)))) !== null) {
    throw new AppError('BAD_REQUEST', `${folder} is incomplete: pack it again on the old machine`);
  }
  const size = (await nullIfMissing(lstat(join(folder, MANIFEST))))?.size ?? null;
  if (size === null) {
    throw new AppError(
      'BAD_REQUEST',
      `${folder} has no ${MANIFEST}: give the whole folder that --to-folder made`,
    );
  }
  const text = size > MAX_MANIFEST_BYTES ? '' : await readFile(join(folder, MANIFEST), 'utf8');
  const parsed = manifest.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new AppError('BAD_REQUEST', `${join(folder, MANIFEST)} is damaged: copy the folder again`);
}

/** Where the parts of this machine's installation are. */
export function placesOf(environment: Environment, start: string): Places {
  const data = readConfig(databaseVariables, environment);
  const archives = readConfig(archiveVariables, environment);
  return {
    data: data.DATA_DIR,
    archives: archivePath({ ...data, ...archives }),
    config: configFolder(readConfig(gitHostVariables, environment), environment),
    start,
  };
}

/** Whether this is a lock in DATA_DIR, or says who holds one. Opening a lock would release this process's own lock. */
export const isLock = (name: string) =>
  /^(?:lock\.sqlite|[\w-]+\.lock)(?:-\w+|\.json)?$/.test(name);

/** Runs `work` while no server and no worker can use a DATA_DIR. Throws CONFLICT if one does. */
export async function whileUnused<Result>(
  dataDir: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const files = { database: join(dataDir, 'lock.sqlite'), worker: join(dataDir, 'worker.lock') };
  const inUse = (what: string, lockFile?: string) => {
    const holder = lockFile === undefined ? null : findHolder(lockFile);
    const who = holder === null ? what : `${what}, ${describeHolder(holder)},`;
    return new AppError(
      'CONFLICT',
      `${who} uses ${dataDir}: stop the server and every worker first`,
    );
  };
  const unusable = (reason: string) =>
    new AppError('CONFLICT', `${dataDir} cannot be locked: ${reason}`);
  if ((await findServer(dataDir)) !== null) throw inUse('a running server');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const database = await takeProcessLock(files.database, 0);
  if (!database.held) {
    throw database.busy ? inUse('a running server', files.database) : unusable(database.reason);
  }
  try {
    noteHolder(files.database);
    const worker = await tryProcessLock(files.worker);
    if (!worker.held) {
      throw worker.busy ? inUse('a worker', files.worker) : unusable(worker.reason);
    }
    try {
      noteHolder(files.worker);
      return await work();
    } finally {
      forgetHolder(files.worker);
      worker.release();
    }
  } finally {
    forgetHolder(files.database);
    await database.release();
  }
}

/** Every file and every empty folder below a folder, as paths with `/`, in order. */
export interface PackedTree {
  files: string[];
  folders: string[];
}

/** Lists a folder that may be missing. Throws CONFLICT for a link, whose target would be lost. */
export async function listPackedTree(
  folder: string,
  skips: (path: string) => boolean,
): Promise<PackedTree> {
  const tree: PackedTree = { files: [], folders: [] };
  const list = async (below: string): Promise<void> => {
    const entries = await nullIfMissing(readdir(join(folder, below), { withFileTypes: true }));
    if (below !== '' && entries?.length === 0) tree.folders.push(below);
    for (const entry of (entries ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (skips(path)) continue;
      if (entry.isDirectory()) await list(path);
      else if (entry.isFile()) tree.files.push(path);
      else if (entry.isSymbolicLink()) {
        throw new AppError(
          'CONFLICT',
          `${join(folder, path)} is a link, which cannot be moved: replace it by what it leads to`,
        );
      }
    }
  };
  await list('');
  return tree;
}

/** The folders that making a folder would make: itself and those above it that are missing, the deepest first. */
export async function missingFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  let path = folder;
  while ((await nullIfMissing(lstat(path))) === null && !missing.includes(path)) {
    missing.push(path);
    path = dirname(path);
  }
  return missing;
}

/** Removes folders, the deepest first, except those that have something in them. */
export async function removeEmptyFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    try {
      await nullIfMissing(rmdir(folder));
    } catch (error) {
      if (!isSystemError(error) || !['ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error;
    }
  }
}

/** What is known of a file's content. */
type Content = Pick<PackedFile, 'size' | 'sha256'>;

/** Reads a file and returns its size and SHA-256. */
export async function hashContent(path: string): Promise<Content> {
  return hash(readChunks(path), async () => undefined);
}

/** Copies a file to a new one that only its owner can read, flushes it to the disk, and returns what was copied. */
export async function copyNew(
  from: string,
  to: string,
  { mode, modified_ms }: Pick<PackedFile, 'mode' | 'modified_ms'>,
): Promise<Content> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const handle = await open(to, 'wx', 0o600);
  let content: Content;
  try {
    content = await hash(readChunks(from), async (chunk) => void (await handle.writeFile(chunk)));
    if (process.platform !== 'win32') await restrict(to, mode);
    await syncHandle(handle);
  } finally {
    await handle.close();
  }
  // A quarter of a millisecond more, because the system truncates the fraction of a second that it is given.
  const seconds = (modified_ms + 0.25) / 1_000;
  await utimes(to, seconds, seconds);
  return content;
}

async function hash(
  chunks: AsyncIterable<Buffer>,
  use: (chunk: Buffer) => Promise<void>,
): Promise<Content> {
  const sha256 = createHash('sha256');
  let size = 0;
  for await (const chunk of chunks) {
    sha256.update(chunk);
    size += chunk.length;
    await use(chunk);
  }
  return { size, sha256: sha256.digest('hex') };
}

/** Runs `work` on files, and explains what the system refuses. */
export async function withFiles<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const what = error.code === 'ENOSPC' ? 'the disk is full' : error.message;
    throw new AppError('CONFLICT', `not finished: ${what}`, { cause: error });
  }
}
