import { createHash } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import {
  archiveNote,
  describeFiles,
  noteName,
  type VersionEntry,
} from '../../archives/base/note.ts';
import { restrict, syncFile } from '../../durable-files.ts';
import { NotAFile, nullIfMissing, readChunks } from '../../files.ts';
import { parseJson } from '../../json.ts';
import { repositoryFigures } from './figures.ts';

/**
 * The worker's note next to an archive, in `<archive>.json`. It adds what the archive was made from, so that
 * an unchanged repository is recognised and counted without a clone.
 */
const archiveRecord = archiveNote.extend({
  archive_size_bytes: z.int(),
  /** The full bundle's modification time in milliseconds since the epoch. */
  archive_modified_ms: z.int(),
  /** The branch of HEAD; null if HEAD was detached or its branch is unknown. */
  head_branch: z.string().nullable(),
  /** Digest of the refs of the newest version; null in a note of an earlier release. */
  refs_sha256: z.string().nullable().default(null),
  /** URL of the git host on which discovery found it; null if it was given on the command line. */
  host: z.string().nullable().default(null),
  /** The full bundle's git blob id (SHA-1), to check whether a destination has it already. */
  archive_blob: z.string().nullable().default(null),
  /** When all files were last read and had the SHA-256 that is recorded here, ISO 8601. */
  checked_at: z.iso.datetime().nullable().default(null),
  /** The number of the next increment. Numbers are never reused, so that a name always means the same content. */
  next_increment: z.int().min(1).default(1),
  /** Increments that the full bundle has replaced and that are not deleted yet. */
  obsolete: z.array(z.string()).default([]),
  figures: repositoryFigures,
});

export type ArchiveRecord = z.output<typeof archiveRecord>;

/** An archive of this run or an earlier one: its file name in the archive folder, and its note. */
export interface KeptArchive {
  key: string;
  record: ArchiveRecord;
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

/** A file of an archive. */
export interface ArchiveFile {
  name: string;
  /** Null if it was not recorded. */
  sha256: string | null;
  sizeBytes: number;
  /** Its git blob id, if it is an increment whose id was recorded. */
  blob?: string | undefined;
  /** When an increment was written, in milliseconds since the epoch, if that was recorded. */
  modifiedMs?: number | undefined;
}

/** What is in the archive folder for a repository. */
export interface ArchiveOnDisk {
  /** Null if there is no valid note. */
  record: ArchiveRecord | null;
  /** The full bundle and its increments; empty if there is no full bundle. */
  files: ArchiveFile[];
  /** The versions that the files hold. */
  versions: readonly VersionEntry[];
  /** Whether the note describes the files exactly, judging by sizes and times. */
  isSettled: boolean;
  /** The path of its bundle or note, if that is something else than a file. */
  obstacle: string | null;
}

/** Parses a note; null if the text is not one. */
export function parseArchiveRecord(text: string): ArchiveRecord | null {
  const parsed = archiveRecord.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/** Reads what is in the archive folder for a repository. Does not read the files themselves. */
export async function readArchiveOnDisk(folder: string, key: string): Promise<ArchiveOnDisk> {
  const path = join(folder, key);
  const [note, bundle] = await Promise.all([
    nullIfUnnamable(stat(noteName(path))),
    nullIfUnnamable(stat(path)),
  ]);
  const text = note?.isFile() ? await nullIfMissing(readFile(noteName(path), 'utf8')) : null;
  const record = text === null ? null : parseArchiveRecord(text);
  const blocked = [
    { at: path, found: bundle },
    { at: noteName(path), found: note },
  ].find(({ found }) => found?.isFile() === false);
  const obstacle = blocked?.at ?? null;
  if (!bundle?.isFile()) return { record, files: [], versions: [], isSettled: false, obstacle };
  const { size: sizeBytes, mtimeMs: modifiedMs } = bundle;
  if (record === null) {
    return {
      record,
      files: [{ name: key, sha256: null, sizeBytes }],
      versions: [],
      isSettled: false,
      obstacle,
    };
  }
  const described = describeFiles(record, { sizeBytes, modifiedMs });
  const files: ArchiveFile[] = [{ name: key, sha256: described.sha256, sizeBytes }];
  let isWhole = true;
  for (const { name, sha256, size_bytes, blob, modified_ms } of described.increments) {
    const found = await nullIfMissing(stat(join(folder, name)));
    isWhole &&= found?.isFile() === true && found.size === size_bytes;
    isWhole &&= modified_ms === undefined || modified_ms === Math.floor(found?.mtimeMs ?? 0);
    files.push({ name, sha256, sizeBytes: size_bytes, blob, modifiedMs: modified_ms });
  }
  const isSettled =
    isWhole &&
    record.replacing === null &&
    record.archive_size_bytes === sizeBytes &&
    record.archive_modified_ms === Math.floor(modifiedMs);
  return { record, files, versions: described.versions, isSettled, obstacle };
}

/** Null also for a name that this file system cannot have. Only the backup of that repository fails because of it. */
async function nullIfUnnamable<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await nullIfMissing(reading);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENAMETOOLONG') return null;
    throw error;
  }
}

/** The note of an archive; null if there is none, or if the files differ from it in size or time. */
export async function readArchiveRecord(
  folder: string,
  key: string,
): Promise<ArchiveRecord | null> {
  const { record, isSettled } = await readArchiveOnDisk(folder, key);
  return isSettled ? record : null;
}

/** A note with the present times of the files: those of a copied folder differ. Only for files that were just read. */
export async function withTimes(
  folder: string,
  key: string,
  record: ArchiveRecord,
): Promise<ArchiveRecord> {
  const timeOf = async (name: string) => Math.floor((await stat(join(folder, name))).mtimeMs);
  const increments: ArchiveRecord['increments'] = [];
  for (const one of record.increments) {
    increments.push({ ...one, modified_ms: await timeOf(one.name) });
  }
  return { ...record, archive_modified_ms: await timeOf(key), increments };
}

/** The size of a whole archive in bytes. */
export function archiveBytes({ archive_size_bytes: bytes, increments }: ArchiveRecord): number {
  return increments.reduce((total, { size_bytes }) => total + size_bytes, bytes);
}

/** A finished bundle, synced and read back. */
interface SealedBundle {
  sha256: string;
  /** Its git blob id. */
  blob: string;
  sizeBytes: number;
  modifiedMs: number;
}

/** Syncs and hashes a finished bundle before it is published. */
export async function sealBundle(path: string): Promise<SealedBundle> {
  await restrict(path, 0o600);
  await syncFile(path);
  const { size: sizeBytes, mtimeMs } = await stat(path);
  const blob = createHash('sha1').update(`blob ${sizeBytes}\0`);
  const sha256 = await hashFile(path, (chunk) => blob.update(chunk));
  return { sha256, blob: blob.digest('hex'), sizeBytes, modifiedMs: Math.floor(mtimeMs) };
}

/** The SHA-256 of a file, in hexadecimal. */
async function hashFile(path: string, onChunk?: (chunk: Buffer) => void): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readChunks(path)) {
    hash.update(chunk);
    onChunk?.(chunk);
  }
  return hash.digest('hex');
}

/** The bundles of an archive, with their recorded SHA-256. */
export function bundlesOf({ key, record: { archive_sha256: sha256, increments } }: KeptArchive) {
  return [{ name: key, sha256 }, ...increments];
}

/** The first file that is missing or altered, and whether it is missing; null if all are good. */
export async function findBadFile(
  folder: string,
  files: Iterable<{ name: string; sha256: string | null }>,
): Promise<{ name: string; isMissing: boolean } | null> {
  for (const { name, sha256 } of files) {
    const found = await readHash(join(folder, name));
    if (found === null || found !== sha256) return { name, isMissing: found === null };
  }
  return null;
}

/** The SHA-256 of a file; empty if it is something else, and null if it is missing. */
async function readHash(path: string): Promise<string | null> {
  try {
    return await nullIfMissing(hashFile(path));
  } catch (error) {
    if (error instanceof NotAFile) return '';
    throw error;
  }
}
