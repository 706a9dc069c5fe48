import { statfs } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import { type Git, GitError } from '../git/git.ts';
import { counted, formatBytes } from '../text/units.ts';

/** Maximum number of files and folders. A repository of a few bytes can have a tree with a billion of them. */
export const MAX_ENTRIES = 1_000_000;
const LIST_TIMEOUT_MS = 60_000;
/** Even a small file takes up a whole block, and so does a folder. */
const BYTES_PER_ENTRY = 4_096;

/** What a checkout writes. */
export interface WorkTreeSize {
  files: number;
  /** Files and folders. */
  entries: number;
  bytes: number;
  /** The length of the longest path in bytes. */
  longestPath: number;
}

/** The files of a commit are too many to be checked out, or too large for the disk. */
export class WorkTreeTooLarge extends AppError {}

const ADVICE = 'restore it with --bare, or with --no-limit to write them all the same';

/** Measures what a checkout would write. Throws WorkTreeTooLarge as soon as it is too much, and GitError. */
export async function measureWorkTree(
  git: Pick<Git, 'stream'>,
  gitDir: string,
  commit: string,
): Promise<WorkTreeSize> {
  const size = { files: 0, entries: 0, bytes: 0, longestPath: 0 };
  const args = [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-t', '-l', '-z', commit];
  for await (const entry of git.stream(args, '\0', { timeoutMs: LIST_TIMEOUT_MS })) {
    // `<mode> <type> <object> <size>\t<path>`. Folders have no size, nor have submodules, which become empty folders.
    const tab = entry.indexOf('\t');
    const [, type, , bytes = ''] = entry.slice(0, tab).split(/ +/);
    size.longestPath = Math.max(size.longestPath, Buffer.byteLength(entry.slice(tab + 1)));
    size.entries++;
    if (type !== 'tree') size.files++;
    size.bytes += Number.parseInt(bytes, 10) || 0;
    if (size.entries > MAX_ENTRIES) {
      const text = `it has more than ${MAX_ENTRIES} files and folders: ${ADVICE}`;
      throw new WorkTreeTooLarge('CONFLICT', text);
    }
  }
  return size;
}

/** Whether the disk of a folder has room for a checkout. */
export async function hasRoomFor(
  folder: string,
  { bytes, entries }: WorkTreeSize,
): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize >= bytes + entries * BYTES_PER_ENTRY;
}

/** Throws WorkTreeTooLarge if a checkout would write too much, also for the disk of the folder, and GitError. */
export async function requireRoom(
  git: Pick<Git, 'stream'>,
  { folder, gitDir }: { folder: string; gitDir: string },
  commit: string,
): Promise<void> {
  const size = await measureWorkTree(git, gitDir, commit).catch((error: unknown) => {
    if (!(error instanceof GitError && error.fault === 'timeout')) throw error;
    const text = `its files could not be counted within a minute: ${ADVICE}`;
    throw new WorkTreeTooLarge('CONFLICT', text, { cause: error });
  });
  if (await hasRoomFor(folder, size)) return;
  const what = `${counted(size.files, 'file')} of ${formatBytes(size.bytes)}`;
  throw new WorkTreeTooLarge(
    'SERVICE_UNAVAILABLE',
    `the disk has too little space for its ${what}: make room, ${ADVICE}`,
  );
}
