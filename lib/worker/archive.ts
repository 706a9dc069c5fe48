import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { archiveNote, noteName } from '../archives/note.ts';
import { nullIfMissing } from '../files.ts';
import { parseJson } from '../json.ts';
import { repositoryFigures } from './figures.ts';
import { syncFile } from './sync-file.ts';

/**
 * The worker's note next to an archive, in `<archive>.json`. It adds what the archive was made from, so that
 * an unchanged repository is recognised and counted without a clone.
 */
const archiveRecord = archiveNote.extend({
  archive_size_bytes: z.int(),
  /** The archive's modification time in milliseconds since the epoch. */
  archive_modified_ms: z.int(),
  /** The branch of HEAD; null if HEAD was detached or unborn. */
  head_branch: z.string().nullable(),
  /** URL of the git host on which discovery found it; null if it was given on the command line. */
  host: z.string().nullable().default(null),
  /** The archive's git blob id (SHA-1), to check whether a destination has it already. */
  archive_blob: z.string().nullable().default(null),
  figures: repositoryFigures,
});

export type ArchiveRecord = z.output<typeof archiveRecord>;

/** An archive of this run or an earlier one: its file name in the archive folder, and its note. */
export interface KeptArchive {
  key: string;
  record: ArchiveRecord;
}

/** The archive's file name for a repository. */
export function archiveKey(repository: string): string {
  return `${repository.replace('/', '__')}.bundle`.toLowerCase();
}

/** Creates the archive folder, readable only by its owner. Throws file system errors. */
export async function makeArchiveFolder(folder: string): Promise<void> {
  if ((await nullIfMissing(stat(folder)))?.isDirectory()) return;
  // `recursive` would loop forever where creating a folder in an existing one gives ENOENT (/proc).
  if (dirname(folder) !== folder) await makeArchiveFolder(dirname(folder));
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!isThere || !(await stat(folder)).isDirectory()) throw error;
  }
}

/**
 * The note of an archive; null if there is none, or if the archive's size or modification time differs from
 * it. Does not detect damage that changes neither.
 */
export async function readArchiveRecord(
  folder: string,
  key: string,
): Promise<ArchiveRecord | null> {
  const { record, isInPlace } = await readRecord(folder, key);
  return isInPlace ? record : null;
}

interface FoundRecord {
  /** Null if there is no valid note. */
  record: ArchiveRecord | null;
  isArchiveThere: boolean;
  /** Whether the note describes the current archive. */
  isInPlace: boolean;
}

async function readRecord(folder: string, key: string): Promise<FoundRecord> {
  const path = join(folder, key);
  const [note, archive] = await Promise.all([
    nullIfMissing(readFile(noteName(path), 'utf8')),
    nullIfMissing(stat(path)),
  ]);
  const parsed = note === null ? null : archiveRecord.safeParse(parseJson(note));
  const record = parsed?.success ? parsed.data : null;
  const isInPlace =
    archive?.isFile() === true &&
    record?.archive_size_bytes === archive.size &&
    record.archive_modified_ms === Math.floor(archive.mtimeMs);
  return { record, isArchiveThere: archive !== null, isInPlace };
}

/** Syncs and hashes a finished bundle before it is published. */
export async function sealBundle(
  path: string,
): Promise<{ sha256: string; blob: string; sizeBytes: number; modifiedMs: number }> {
  await chmod(path, 0o600);
  await syncFile(path);
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

/** Where an archive goes, and the hash of the current one in the database. */
export interface Place {
  folder: string;
  key: string;
  recordedSha256: string | null;
}

/**
 * Moves a sealed bundle into place atomically, so that readers see either the old archive or the new one. The
 * note is written first and describes both, so that it is valid even if the worker is killed in between.
 * `settleNote` must follow.
 */
export async function publishArchive(
  bundle: string,
  place: Place,
  record: ArchiveRecord,
): Promise<void> {
  await writeNote(bundle, place, { ...record, replacing: await findReplaced(place) });
  await rename(bundle, join(place.folder, place.key));
  await syncFile(place.folder);
}

/** Writes the final note of a published archive. `scratch`: path for a temporary file. */
export function settleNote(
  scratch: string,
  place: Pick<Place, 'folder' | 'key'>,
  record: ArchiveRecord,
): Promise<void> {
  return writeNote(scratch, place, { ...record, replacing: null });
}

async function writeNote(
  scratch: string,
  { folder, key }: Pick<Place, 'folder' | 'key'>,
  record: ArchiveRecord,
): Promise<void> {
  const note = noteName(scratch);
  await writeFile(note, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await syncFile(note);
  await rename(note, join(folder, noteName(key)));
  await syncFile(folder);
}

/** The archive that is about to be replaced; null if there is none. */
async function findReplaced(place: Place): Promise<ArchiveRecord['replacing']> {
  const { folder, key, recordedSha256 } = place;
  const { record, isArchiveThere, isInPlace } = await readRecord(folder, key);
  if (!isArchiveThere) return null;
  const none = { size_bytes: null, modified_ms: null, increments: [], versions: [] };
  if (record === null) return { ...none, sha256: recordedSha256 };
  // Not in place: an earlier run was stopped between writing the note and replacing the archive.
  return isInPlace
    ? { ...none, sha256: record.archive_sha256 }
    : (record.replacing ?? { ...none, sha256: record.archive_sha256 });
}
