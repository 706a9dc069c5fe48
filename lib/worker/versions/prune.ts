import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keptName, manifestFolder, manifestName } from '../../archives/manifest.ts';
import type { VersionEntry } from '../../archives/note.ts';
import type { RetentionPolicy } from '../../config/archives.ts';
import type { Git } from '../../git/git.ts';
import {
  type ArchiveRecord,
  bundlesOf,
  findBadFile,
  type Place,
  settleNote,
} from '../archive/archive.ts';
import type { Mirror } from '../mirror/mirror.ts';
import { setKeptRefs } from '../mirror/mirror-refs.ts';
import type { Refs } from '../mirror/refs.ts';
import type { Hold } from './hold.ts';
import { readManifest } from './manifests.ts';
import { findOverwritten } from './overwritten.ts';
import { selectPruned } from './retention.ts';
import { describeFuture } from './version-time.ts';

export interface Pruning {
  git: Git;
  mirror: Mirror;
  place: Place;
  /** The note of the archive, whose files must be in place. */
  record: ArchiveRecord;
  /** The refs of the newest version. */
  refs: Refs;
  policy: RetentionPolicy;
  now(): number;
  /** Says in which way this machine's clock may be wrong; null if it is not. */
  checkClock(): Promise<string | null>;
  hold: Hold;
}

/** The versions that were pruned, and the note without them. */
export interface Pruned {
  record: ArchiveRecord;
  versions: VersionEntry[];
}

/**
 * Lets go the versions that the policy does not keep, after all files of the archive were read and had the
 * recorded SHA-256. Their objects leave the archive when its full bundle is next written. Throws
 * PruningHeld, PruningRefused, GitError and file system errors.
 */
export async function pruneVersions(pruning: Pruning): Promise<Pruned> {
  const { git, mirror, place, record, refs, policy, now, hold } = pruning;
  const select = () => selectPruned(record.versions, policy, now(), hold);
  if (select().length === 0) return { record, versions: [] };
  const doubt = (await pruning.checkClock()) ?? describeFuture(record.versions, now()) ?? hold.all;
  if (doubt !== null) throw new PruningHeld(doubt);
  // The check may have corrected the time.
  const versions = select();
  const bad = await findBadFile(place.folder, bundlesOf({ key: place.key, record }));
  if (bad !== null) throw new PruningRefused(`${bad.name} is not the file that was recorded`);
  const left = record.versions.filter((entry) => !versions.includes(entry));
  const kept = await findKept(pruning, left.slice(0, -1), refs);
  const next = { ...record, versions: left, checked_at: new Date(now()).toISOString() };
  await settleNote(place, next);
  await setKeptRefs(git, mirror, kept);
  for (const { version } of versions) {
    await rm(join(place.folder, manifestFolder(place.key), manifestName(version)), { force: true });
  }
  return { record: next, versions };
}

/** Versions that are kept because their age is unknown. */
export class PruningHeld extends Error {
  override readonly name = 'PruningHeld';
}

/** Versions that cannot be pruned now. */
export class PruningRefused extends Error {
  override readonly name = 'PruningRefused';
}

/**
 * The refs that keep what these versions need and the source no longer has. Throws PruningRefused if a manifest
 * cannot be read.
 */
export async function findKept(
  { git, mirror, place }: Pick<Pruning, 'git' | 'mirror' | 'place'>,
  older: readonly VersionEntry[],
  refs: Refs,
): Promise<Map<string, string>> {
  const needed = new Map<string, string>();
  const nameOf = new Map<string, string>();
  for (const entry of [...older].reverse()) {
    const manifest = await readManifest(place.folder, place.key, entry);
    if (manifest === null)
      throw new PruningRefused(`the manifest of version ${entry.version} is missing or altered`);
    for (const [name, id] of Object.entries(manifest.refs)) {
      if (nameOf.has(id)) continue;
      nameOf.set(id, keptName(entry.version, name));
      needed.set(nameOf.get(id) ?? '', id);
    }
  }
  const { lost } = await findOverwritten(git, mirror, needed, refs);
  return new Map(lost);
}
