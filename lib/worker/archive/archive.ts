import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import {
  formatManifest,
  incrementName,
  manifestFolder,
  manifestName,
  type VersionManifest,
} from '../../archives/manifest.ts';
import { archiveNote, describeFiles, noteName, type VersionEntry } from '../../archives/note.ts';
import { moveNew, syncFile } from '../../durable-files.ts';
import { nullIfMissing, readChunks } from '../../files.ts';
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
  /** Where the repository was read; null in a note of an earlier release. */
  address: z.string().nullable().default(null),
  /** The branch of HEAD; null if HEAD was detached or unborn. */
  head_branch: z.string().nullable(),
  /** Digest of the refs of the newest version; null in a note of an earlier release. */
  refs_sha256: z.string().nullable().default(null),
  /** URL of the git host on which discovery found it; null if it was given on the command line. */
  host: z.string().nullable().default(null),
  /** The full bundle's git blob id (SHA-1), to check whether a destination has it already. */
  archive_blob: z.string().nullable().default(null),
  /** When all files were last read and had the SHA-256 that is recorded here, ISO 8601. */
  checked_at: z.iso.datetime().nullable().default(null),
  /** The number of the next increment. Numbers are not used again, so that a name always means one content. */
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

/** A file of an archive. */
export interface ArchiveFile {
  name: string;
  /** Null if it was not recorded. */
  sha256: string | null;
  sizeBytes: number;
  /** Its git blob id, if it is an increment whose id was recorded. */
  blob?: string | undefined;
}

/** What is in the archive folder for a repository. */
export interface ArchiveState {
  /** Null if there is no valid note. */
  record: ArchiveRecord | null;
  /** The full bundle and its increments; empty if there is no full bundle. */
  files: ArchiveFile[];
  /** The versions that the files hold. */
  versions: readonly VersionEntry[];
  /** Whether the note describes the files exactly, as far as sizes and the full bundle's time tell. */
  isSettled: boolean;
}

/** Null if the text is not a note of ours. */
export function parseArchiveRecord(text: string): ArchiveRecord | null {
  const parsed = archiveRecord.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/** Reads what is in the archive folder for a repository. Does not read the files themselves. */
export async function readArchiveState(folder: string, key: string): Promise<ArchiveState> {
  const path = join(folder, key);
  const [note, bundle] = await Promise.all([
    nullIfMissing(readFile(noteName(path), 'utf8')),
    nullIfMissing(stat(path)),
  ]);
  const record = note === null ? null : parseArchiveRecord(note);
  if (!bundle?.isFile()) return { record, files: [], versions: [], isSettled: false };
  const { size: sizeBytes, mtimeMs: modifiedMs } = bundle;
  if (record === null) {
    return {
      record,
      files: [{ name: key, sha256: null, sizeBytes }],
      versions: [],
      isSettled: false,
    };
  }
  const described = describeFiles(record, { sizeBytes, modifiedMs });
  const files: ArchiveFile[] = [{ name: key, sha256: described.sha256, sizeBytes }];
  let isWhole = true;
  for (const { name, sha256, size_bytes, blob } of described.increments) {
    const found = await nullIfMissing(stat(join(folder, name)));
    isWhole &&= found?.isFile() === true && found.size === size_bytes;
    files.push({ name, sha256, sizeBytes: size_bytes, blob });
  }
  const isSettled =
    isWhole &&
    record.replacing === null &&
    record.archive_size_bytes === sizeBytes &&
    record.archive_modified_ms === Math.floor(modifiedMs);
  return { record, files, versions: described.versions, isSettled };
}

/** The note of an archive; null if there is none, or if the files differ from it in size or time. */
export async function readArchiveRecord(
  folder: string,
  key: string,
): Promise<ArchiveRecord | null> {
  const { record, isSettled } = await readArchiveState(folder, key);
  return isSettled ? record : null;
}

/** The size of a whole archive in bytes. */
export function archiveBytes({ archive_size_bytes: bytes, increments }: ArchiveRecord): number {
  return increments.reduce((total, { size_bytes }) => total + size_bytes, bytes);
}

/** A bundle that is finished: synced, and read back. */
interface SealedBundle {
  sha256: string;
  /** Its git blob id. */
  blob: string;
  sizeBytes: number;
  modifiedMs: number;
}

/** Syncs and hashes a finished bundle before it is published. */
export async function sealBundle(path: string): Promise<SealedBundle> {
  await chmod(path, 0o600);
  await syncFile(path);
  const { size: sizeBytes, mtimeMs } = await stat(path);
  const blob = createHash('sha1').update(`blob ${sizeBytes}\0`);
  const sha256 = await hashWhole(path, (chunk) => blob.update(chunk));
  return { sha256, blob: blob.digest('hex'), sizeBytes, modifiedMs: Math.floor(mtimeMs) };
}

/** The SHA-256 of a file, in hexadecimal. */
async function hashWhole(path: string, also?: (chunk: Buffer) => void): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readChunks(path)) {
    hash.update(chunk);
    also?.(chunk);
  }
  return hash.digest('hex');
}

/** The bundles of an archive with what was recorded of them. */
export function bundlesOf({ key, record: { archive_sha256: sha256, increments } }: KeptArchive) {
  return [{ name: key, sha256 }, ...increments];
}

/** The first of these files that is missing or not the one that was recorded, and which of both; null if all are good. */
export async function findBadFile(
  folder: string,
  files: Iterable<{ name: string; sha256: string | null }>,
): Promise<{ name: string; isMissing: boolean } | null> {
  for (const { name, sha256 } of files) {
    const found = await nullIfMissing(hashWhole(join(folder, name)));
    if (found === null || found !== sha256) return { name, isMissing: found === null };
  }
  return null;
}

/** Where an archive is, and a folder beside it for temporary files. */
export interface Place {
  folder: string;
  key: string;
  scratch: string;
  /** Throws if the archive may be another worker's by now, so that two never write one, or if its folder is gone. */
  checkLease(): Promise<void>;
}

/**
 * Puts a sealed full bundle into place atomically, so that readers see either the old archive or the new one.
 * The note is written first and describes both, so that it is valid even if the worker is killed in between.
 * `settleNote` must follow.
 */
export async function publishBundle(
  bundle: string,
  place: Place,
  {
    record,
    before,
    recordedSha256,
  }: {
    record: ArchiveRecord;
    before: ArchiveState;
    /** SHA-256 of the archive in the database. */
    recordedSha256: string | null;
  },
): Promise<void> {
  const [replaced, ...others] = before.files;
  const path = join(place.folder, place.key);
  if (replaced === undefined) {
    await place.checkLease();
    // Before the note, which may be that of another archive as well.
    if (!(await moveNew(bundle, path))) {
      throw new Error(`${place.key} belongs to another archive, which has appeared meanwhile`);
    }
    await syncFile(place.folder);
    return writeNote(place, { ...record, replacing: null });
  }
  const modifiedMs = Math.floor((await stat(path)).mtimeMs);
  const known = new Map(before.record?.increments.map((one) => [one.name, one]));
  for (const one of before.record?.replacing?.increments ?? []) known.set(one.name, one);
  const replacing = {
    sha256: replaced.sha256 ?? recordedSha256,
    size_bytes: replaced.sizeBytes,
    modified_ms: modifiedMs,
    increments: others.flatMap(({ name }) => known.get(name) ?? []),
    versions: [...before.versions],
  };
  await writeNote(place, { ...record, replacing });
  await place.checkLease();
  await rename(bundle, path);
  await syncFile(place.folder);
}

/** Puts a sealed increment into place under a name that no other file has. */
export async function publishIncrement(
  bundle: string,
  { folder, key, checkLease }: Place,
  first: number,
): Promise<{ name: string; number: number }> {
  await checkLease();
  for (let number = first; ; number++) {
    const name = incrementName(key, number);
    // An archive of a repository called `<name>.<number>` may be there, or what a killed run did not record.
    if (await moveNew(bundle, join(folder, name))) {
      await syncFile(folder);
      return { name, number };
    }
  }
}

/** Writes the manifest of a version, which counts once the note lists it. Returns its text. */
export async function publishManifest(
  { folder, key, scratch, checkLease }: Place,
  manifest: VersionManifest,
): Promise<string> {
  const versions = join(folder, manifestFolder(key));
  await mkdir(versions, { recursive: true, mode: 0o700 });
  const text = formatManifest(manifest);
  const file = join(scratch, 'manifest.json');
  await writeFile(file, text, { mode: 0o600 });
  await syncFile(file);
  await checkLease();
  await rename(file, join(versions, manifestName(manifest.version)));
  await syncFile(versions);
  return text;
}

/** Writes the note that describes the files in place, and deletes the files that it calls obsolete. */
export async function settleNote(place: Place, record: ArchiveRecord): Promise<void> {
  await writeNote(place, { ...record, replacing: null });
  for (const name of record.obsolete) await removeIncrement(place, name);
}

/** Removes an increment, unless the name has become that of another repository's archive, which has a note. */
async function removeIncrement({ folder, key }: Place, name: string): Promise<void> {
  const [, number = ''] = /\.(\d+)\.bundle$/.exec(name) ?? [];
  if (name !== incrementName(key, Number(number))) return;
  if ((await nullIfMissing(stat(join(folder, noteName(name))))) !== null) return;
  await rm(join(folder, name), { force: true });
}

async function writeNote(
  { folder, key, scratch, checkLease }: Place,
  record: ArchiveRecord,
): Promise<void> {
  const note = join(scratch, 'note.json');
  await writeFile(note, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await syncFile(note);
  await checkLease();
  await rename(note, join(folder, noteName(key)));
  await syncFile(folder);
}
