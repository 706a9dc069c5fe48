import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ArchiveFault } from '../../archives/archive-fault.ts';
import { manifestFolder } from '../../archives/manifest.ts';
import { noteName } from '../../archives/note.ts';
import { nameBefore } from '../../archives/set-aside.ts';
import { nullIfMissing } from '../../files.ts';
import type { Git } from '../../git/git.ts';
import {
  type ArchiveRecord,
  type ArchiveState,
  type Place,
  parseArchiveRecord,
  settleNote,
} from '../archive/archive.ts';
import { hasObjects, type Mirror, readHeader } from '../mirror/mirror.ts';
import { readKeptRefs } from '../mirror/mirror-refs.ts';
import type { Refs } from '../mirror/refs.ts';
import { readManifest } from './manifests.ts';
import { findOverwritten } from './overwritten.ts';

/** A younger file may belong to a run that goes on. */
const MIN_AGE_MS = 24 * 60 * 60_000;

/** An archive that was just changed, with the mirror that has all of it. */
export interface ChangedArchive {
  place: Place;
  mirror: Mirror;
  record: ArchiveRecord;
  refs: Refs;
}

type Finding = 'delete' | 'later' | 'another' | 'keep';

/**
 * Deletes increments that runs have published and not recorded because they were killed: those that are older than a
 * day, that no note or manifest names, and whose refs the archive has too. Returns the note without them, and which
 * files stay because they hold something else. Throws GitError and file system errors.
 */
export async function deleteLeftovers(
  git: Git,
  archive: ChangedArchive,
): Promise<{ record: ArchiveRecord; kept: string[] }> {
  const { place, record } = archive;
  if (record.leftovers.length === 0) return { record, kept: [] };
  const later: string[] = [];
  const kept: string[] = [];
  for (const name of record.leftovers) {
    const finding = await examine(git, archive, name);
    if (finding === 'later') later.push(name);
    if (finding === 'keep') kept.push(name);
    if (finding !== 'delete') continue;
    await place.checkLease();
    await rm(join(place.folder, name), { force: true });
  }
  if (later.length === record.leftovers.length) return { record, kept };
  const next = { ...record, leftovers: later };
  await settleNote(place, next);
  return { record: next, kept };
}

/** Increments that the note calls obsolete and that are still there, as the run was killed that was to delete them. */
export async function listObsolete(
  { folder }: Place,
  { record, files }: ArchiveState,
): Promise<string[]> {
  const left: string[] = [];
  for (const name of record?.obsolete ?? []) {
    const isUsed = files.some((file) => file.name === name);
    if (!isUsed && (await nullIfMissing(stat(join(folder, name)))) !== null) left.push(name);
  }
  return left;
}

async function examine(git: Git, archive: ChangedArchive, name: string): Promise<Finding> {
  const { folder, key } = archive.place;
  const path = join(folder, name);
  const found = await nullIfMissing(stat(path));
  // The archive of a repository whose name ends with a number has a note, or manifests that came before it.
  const others = [noteName(path), join(folder, manifestFolder(name))];
  const isAnother = (await Promise.all(others.map((one) => nullIfMissing(stat(one))))).some(
    Boolean,
  );
  if (found === null || isAnother) return 'another';
  // By the clock of the folder, as this machine's may be wrong.
  const { mtimeMs: now } = await stat(join(folder, noteName(key)));
  if (now - found.mtimeMs < MIN_AGE_MS) return 'later';
  if (await isNamed(archive, name)) return 'keep';
  return (await isContained(git, archive, path)) ? 'delete' : 'keep';
}

/** Whether the note of the archive, that of one that was set aside, or a manifest of a version names a file. */
async function isNamed({ place, record }: ChangedArchive, name: string): Promise<boolean> {
  const { folder, key } = place;
  const records = [record];
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.json') || nameBefore(file.slice(0, -'.json'.length)) !== key) continue;
    const aside = parseArchiveRecord(await readFile(join(folder, file), 'utf8'));
    // What it needs is unknown.
    if (aside === null) return true;
    records.push(aside);
  }
  for (const { increments, replacing, versions } of records) {
    const listed = [...increments, ...(replacing?.increments ?? [])];
    if (listed.some((one) => one.name === name)) return true;
    for (const entry of versions) {
      const manifest = await readManifest(folder, key, entry);
      if (manifest?.files.some((file) => file.name === name) !== false) return true;
    }
  }
  return false;
}

/** Whether the archive has every ref of a bundle, or its history. */
async function isContained(
  git: Git,
  { mirror, refs }: ChangedArchive,
  path: string,
): Promise<boolean> {
  try {
    const held = new Map((await readHeader(path)).refs.map(({ name, id }) => [name, id]));
    if (!(await hasObjects(git, mirror, held.values()))) return false;
    const all = new Map([...refs, ...(await readKeptRefs(git, mirror))]);
    return (await findOverwritten(git, mirror, held, all)).lost.size === 0;
  } catch (error) {
    if (error instanceof ArchiveFault) return false;
    throw error;
  }
}
