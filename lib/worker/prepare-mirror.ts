import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { keptName } from '../archives/manifest.ts';
import { type Git, GitError } from '../git/git.ts';
import type { ArchiveState, Place } from './archive.ts';
import { hasObjects, type Mirror, openMirror, readKeptRefs, removeMirror } from './mirror.ts';
import type { RepositoryBackup } from './repository-backup.ts';
import {
  type ArchivedRefs,
  bringArchive,
  DamagedArchive,
  readArchivedRefs,
} from './versions/archived-refs.ts';
import { readManifest } from './versions/manifests.ts';

const WALK_TIMEOUT_MS = 12 * 60 * 60_000;

/** A mirror that has everything that the archive has. */
export interface PreparedMirror {
  mirror: Mirror;
  before: ArchiveState;
  archived: ArchivedRefs;
  /** Whether the files of the archive can be continued. */
  isUsable: boolean;
  /** Name of a damaged archive that was set aside; null if there is none. */
  setAside: string | null;
}

type MirrorOptions = Pick<RepositoryBackup, 'git' | 'archiveFolder' | 'onRemark' | 'now'>;

/** Nothing in the archive folder. */
export const noArchive: ArchiveState = { record: null, files: [], versions: [], isSettled: false };
/** The refs of no archive. */
export const noRefs: ArchivedRefs = { refs: new Map(), kept: new Map() };

/** What git says of a repository with missing or damaged objects. */
export function isMirrorDamage(message: string): boolean {
  return /bad object|missing blob|missing (?:necessary )?objects|object file .* is empty|loose object|corrupt|did not send all necessary objects|packfile .* (?:cannot be|does not)|index file .* is too small|not a git repository/i.test(
    message,
  );
}

/** Opens the mirror with everything that the archive has. A damaged archive is set aside if the mirror lacks it. */
export async function prepareMirror(
  options: MirrorOptions,
  { folder, key }: Place,
  before: ArchiveState,
  { gitDir, anyId }: { gitDir: string; anyId: string },
): Promise<PreparedMirror> {
  const { git, archiveFolder, onRemark, now } = options;
  const mirror = await openMirror(git, gitDir, anyId);
  const good = { before, isUsable: true, setAside: null };
  try {
    const archived = await readArchivedRefs(archiveFolder, before);
    await bringArchive(git, mirror, archiveFolder, before, archived);
    return { ...good, mirror, archived };
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    const archived = await findInMirror(git, mirror, archiveFolder, key, before);
    if (archived !== null) {
      const text = 'the archive is damaged and is written again from the mirror';
      await onRemark('error', `${text}: ${error.message}`);
      return { mirror, before, archived, isUsable: false, setAside: null };
    }
    // A damaged mirror makes a good archive look incomplete.
    const rebuilt = await rebuildMirror(options, gitDir, anyId, before);
    if (rebuilt !== null) {
      await onRemark('warn', 'the mirror was damaged and is built again');
      return { ...good, mirror: rebuilt, archived: await readArchivedRefs(archiveFolder, before) };
    }
    const setAside = `${key}.damaged-${new Date(now()).toISOString().replace(/[-:]|\.\d+/g, '')}`;
    await rename(join(folder, key), join(folder, setAside));
    await onRemark('error', `the archive is damaged: ${error.message}`);
    return { mirror, before: noArchive, archived: noRefs, isUsable: false, setAside };
  }
}

/** Builds a mirror from the archive alone; null, and nothing is replaced, if the archive is damaged. */
export async function rebuildMirror(
  { git, archiveFolder }: MirrorOptions,
  gitDir: string,
  anyId: string,
  before: ArchiveState,
): Promise<Mirror | null> {
  const old = `${gitDir}.old`;
  await removeMirror(old);
  await rename(gitDir, old);
  try {
    const mirror = await openMirror(git, gitDir, anyId);
    const archived = await readArchivedRefs(archiveFolder, before);
    await bringArchive(git, mirror, archiveFolder, before, archived);
    await removeMirror(old);
    return mirror;
  } catch (error) {
    await removeMirror(gitDir);
    await rename(old, gitDir);
    if (error instanceof DamagedArchive) return null;
    throw error;
  }
}

/**
 * The refs of the newest version, if the mirror has all that the versions need; else null. The mirror may be older than
 * the archive, or its import may have ended early, so everything that older versions had is looked for and kept.
 */
async function findInMirror(
  git: Git,
  mirror: Mirror,
  folder: string,
  key: string,
  { versions }: ArchiveState,
): Promise<ArchivedRefs | null> {
  const [newest, ...older] = [...versions].reverse();
  const manifest = newest === undefined ? null : await readManifest(folder, key, newest);
  if (manifest === null) return null;
  const refs = new Map(Object.entries(manifest.refs));
  const kept = new Map(await readKeptRefs(git, mirror));
  const known = new Set([...refs.values(), ...kept.values()]);
  for (const entry of older) {
    const earlier = await readManifest(folder, key, entry);
    if (earlier === null) return null;
    for (const [name, id] of Object.entries(earlier.refs)) {
      if (!known.has(id)) kept.set(keptName(entry.version, name), id);
      known.add(id);
    }
  }
  if (!(await hasObjects(git, mirror, known))) return null;
  const args = [`--git-dir=${mirror.gitDir}`, 'rev-list', '--objects', '--quiet', '--stdin'];
  const stdin = [...refs.values(), ...kept.values()].map((id) => `${id}\n`).join('');
  try {
    await git.read(args, { stdin, timeoutMs: WALK_TIMEOUT_MS });
  } catch (error) {
    if (error instanceof GitError && error.fault === 'failed') return null;
    throw error;
  }
  return { refs, kept };
}
