import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keptName, manifestFolder, manifestName } from '../../../archives/base/manifest.ts';
import type { VersionEntry } from '../../../archives/base/note.ts';
import type { RetentionPolicy } from '../../../config/archives.ts';
import type { Git } from '../../../git/git.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { setKeptRefs } from '../../mirror/mirror-refs.ts';
import type { Refs } from '../../mirror/refs.ts';
import { type ArchiveRecord, bundlesOf, findBadFile } from '../archive.ts';
import { findManifest } from '../manifests.ts';
import { type Place, settleNote } from '../publish.ts';
import { type Hold, selectPruned } from '../retention.ts';
import { findOverwritten } from './overwritten.ts';
import { describeFuture } from './version-time.ts';

/** An archive whose files are in place, and a mirror that contains all of it. */
interface MirroredArchive {
  mirror: Mirror;
  place: Place;
  record: ArchiveRecord;
  /** The refs of the newest version. */
  refs: Refs;
}

/** What decides which versions are pruned. */
export interface PruneOptions {
  git: Git;
  /** Which versions are kept. */
  retention: RetentionPolicy;
  /** What prevents versions from being pruned. */
  hold: Hold;
  /** Milliseconds since the epoch, as far as known: `checkClock` corrects it. */
  now(): number;
  /** Describes how this machine's clock is wrong; null if it is right or cannot be checked. */
  checkClock(): Promise<string | null>;
}

/** The pruned versions, and the note without them. */
export interface Pruned {
  record: ArchiveRecord;
  versions: VersionEntry[];
}

/**
 * Removes the versions that the policy does not keep, once all files of the archive have been read and have the
 * recorded SHA-256. Their objects leave the archive when its full bundle is next written. Throws PruningHeld,
 * PruningRefused, GitError and file system errors.
 */
export async function pruneVersions(
  { git, retention, now, checkClock, hold }: PruneOptions,
  { mirror, place, record, refs }: MirroredArchive,
): Promise<Pruned> {
  const select = () => selectPruned(record.versions, retention, now(), hold);
  if (select().length === 0) return { record, versions: [] };
  const reason = (await checkClock()) ?? describeFuture(record.versions, now()) ?? hold.all;
  if (reason !== null) throw new PruningHeld(reason);
  // The check may have corrected the time.
  const versions = select();
  const bad = await findBadFile(place.folder, bundlesOf({ key: place.key, record }));
  if (bad !== null) throw new PruningRefused(`${bad.name} is not the file that was recorded`);
  const left = record.versions.filter((entry) => !versions.includes(entry));
  const kept = await findKept(git, { mirror, place }, left.slice(0, -1), refs);
  const next = { ...record, versions: left, checked_at: new Date(now()).toISOString() };
  await settleNote(place, next);
  await setKeptRefs(git, mirror, kept);
  for (const { version } of versions) {
    await rm(join(place.folder, manifestFolder(place.key), manifestName(version)), { force: true });
  }
  return { record: next, versions };
}

/** Versions are kept because their age is unknown. */
export class PruningHeld extends Error {
  override readonly name = 'PruningHeld';
}

/** Versions cannot be pruned now. */
export class PruningRefused extends Error {
  override readonly name = 'PruningRefused';
}

/**
 * The refs that keep what these versions need and the source no longer has. Throws PruningRefused if a manifest cannot
 * be read.
 */
export async function findKept(
  git: Git,
  { mirror, place }: Pick<MirroredArchive, 'mirror' | 'place'>,
  older: readonly VersionEntry[],
  refs: Refs,
): Promise<Map<string, string>> {
  const needed = new Map<string, string>();
  const nameOf = new Map<string, string>();
  for (const entry of [...older].reverse()) {
    const manifest = await findManifest(place.folder, place.key, entry);
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
