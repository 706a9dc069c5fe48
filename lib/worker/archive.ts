import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../platform/json.ts';
import { whenThere } from '../platform/when-there.ts';
import { repositoryFigures } from './figures.ts';

/**
 * What the worker notes beside an archive, in `<archive>.json`: what the archive is of, so that an
 * unchanged repository is recognised and counted without a clone.
 */
const archiveRecord = z.object({
  version: z.literal(2),
  archive_sha256: z.string(),
  archive_size_bytes: z.int(),
  /** When the archive was last written to, in whole milliseconds since the epoch. */
  archive_modified_ms: z.int(),
  /** The branch that HEAD named; null when it was detached or unborn. */
  head_branch: z.string().nullable(),
  /** Address of the git host on which discovery found it; null for one named on the command line. */
  host: z.string().nullable().default(null),
  /** The archive's id as a git blob (SHA-1), by which a destination is known to have it. */
  archive_blob: z.string().nullable().default(null),
  figures: repositoryFigures,
});

export type ArchiveRecord = z.output<typeof archiveRecord>;

/** An archive of this run or an earlier one: its file name in the archive folder, and its note. */
export interface KeptArchive {
  key: string;
  record: ArchiveRecord;
}

/** The archive's file name for a repository (decisions 7, Archives). */
export function archiveKey(repository: string): string {
  return `${repository.replace('/', '__')}.bundle`.toLowerCase();
}

/** Makes the archive folder, for its owner alone, unless it is there. Throws Error of the file system. */
export async function makeArchiveFolder(folder: string): Promise<void> {
  // Step by step: Node's recursive mkdir never ends where the system says ENOENT below a folder that
  // is there, as /proc does.
  if (await isMade(folder)) return;
  await makeArchiveFolder(dirname(folder));
  if (!(await isMade(folder))) await mkdir(folder, { mode: 0o700 });
}

/** False when the folder above is missing. */
async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(folder) !== folder) return false;
    if ((await whenThere(stat(folder)))?.isDirectory()) return true;
    throw error;
  }
}

/**
 * The note beside an archive; null when there is none, or the archive's size or time of change is not
 * what the note says. What changes neither, such as decay of the disk, is not noticed.
 */
export async function readArchiveRecord(
  folder: string,
  key: string,
): Promise<ArchiveRecord | null> {
  const path = join(folder, key);
  const [note, archive] = await Promise.all([
    whenThere(readFile(`${path}.json`, 'utf8')),
    whenThere(stat(path)),
  ]);
  if (note === null || archive === null || !archive.isFile()) return null;
  // What is not a note of ours is the same as none.
  const parsed = archiveRecord.safeParse(parseJson(note));
  if (!parsed.success) return null;
  const { archive_size_bytes: size, archive_modified_ms: modifiedMs } = parsed.data;
  const isOfArchive = size === archive.size && modifiedMs === Math.floor(archive.mtimeMs);
  return isOfArchive ? parsed.data : null;
}

/** The figures of a finished bundle that was written but not yet put in its place. */
export async function sealBundle(
  path: string,
): Promise<{ sha256: string; blob: string; sizeBytes: number; modifiedMs: number }> {
  await chmod(path, 0o600);
  await sync(path);
  const { size: sizeBytes, mtimeMs } = await stat(path);
  const hash = createHash('sha256');
  const blob = createHash('sha1').update(`blob ${sizeBytes}\0`);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    blob.update(chunk);
  }
  const modifiedMs = Math.floor(mtimeMs);
  return { sha256: hash.digest('hex'), blob: blob.digest('hex'), sizeBytes, modifiedMs };
}

/**
 * Puts a sealed bundle in its place in one step, so that a reader finds the old archive or the new one.
 * The note goes first: cut off between the two, the repository is backed up again, never skipped.
 */
export async function publishArchive(
  bundle: string,
  folder: string,
  key: string,
  record: ArchiveRecord,
): Promise<void> {
  const note = `${bundle}.json`;
  await writeFile(note, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await sync(note);
  await rename(note, join(folder, `${key}.json`));
  await rename(bundle, join(folder, key));
  await sync(folder);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
