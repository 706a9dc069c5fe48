import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatManifest,
  incrementName,
  manifestFolder,
  manifestName,
  type VersionManifest,
} from '../../archives/base/manifest.ts';
import { noteName } from '../../archives/base/note.ts';
import { moveNew, setTime, syncFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import type { ArchiveOnDisk, ArchiveRecord } from './archive.ts';

/** Where an archive is, and a folder beside it for temporary files. */
export interface Place {
  folder: string;
  key: string;
  scratch: string;
  /** Throws if another worker may own the archive by now, so that two never write it, or if its folder is missing. */
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
    before: ArchiveOnDisk;
    /** SHA-256 of the archive in the database. */
    recordedSha256: string | null;
  },
): Promise<void> {
  const [replaced, ...others] = before.files;
  const path = join(place.folder, place.key);
  if (replaced === undefined) {
    await place.checkLease();
    // Before the note: if another archive has this name by now, the note is not ours to replace.
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
    // The name may belong to the archive of a repository called `<name>.<number>`, or to an unrecorded increment of a
    // killed run.
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
  // As `dateManifest` does later.
  await setTime(file, Date.parse(manifest.at));
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

/** Removes an increment, unless its name now belongs to another repository's archive, which then has a note. */
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
