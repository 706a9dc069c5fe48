import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ArchiveFault } from '../../archives/base/archive-fault.ts';
import { keptName } from '../../archives/base/manifest.ts';
import type { VersionEntry } from '../../archives/base/note.ts';
import { nullIfMissing } from '../../files.ts';
import { type Git, isGitFailure } from '../../git/git.ts';
import type { VersionHash } from '../../records/recording/versions.ts';
import type { ArchiveOnDisk } from '../archive/archive.ts';
import {
  findManifest,
  isOutdated,
  type RecordedVersions,
  readRecordedVersions,
} from '../archive/manifests.ts';
import type { Place } from '../archive/publish.ts';
import { setAside } from '../archive/set-aside.ts';
import {
  type ArchivedRefs,
  bringArchive,
  DamagedArchive,
  readArchivedRefs,
} from '../archive/versions/archived-refs.ts';
import {
  addBundle,
  hasObjects,
  type Mirror,
  openMirror,
  removeMirror,
  setMirrorAside,
} from '../mirror/mirror.ts';
import { readKeptRefs } from '../mirror/mirror-refs.ts';
import { type Backup, remark } from './backup.ts';

const WALK_TIMEOUT_MS = 12 * 60 * 60_000;

/** A mirror that contains everything in the archive. */
export interface PreparedMirror {
  mirror: Mirror;
  before: ArchiveOnDisk;
  archived: ArchivedRefs;
  /** The branch of HEAD in the newest version of the archive; null if there is none. */
  archivedBranch: string | null;
  /** Whether new versions can be appended to the archive's files. */
  isUsable: boolean;
  /** Why earlier versions will be missing from the next archive; null if none will. */
  lost: string | null;
}

type MirrorOptions = Pick<
  Backup,
  'git' | 'archiveFolder' | 'tell' | 'now' | 'recordedVersions' | 'listRecorded'
>;

/** The state when the archive folder has no archive. */
const noArchive: ArchiveOnDisk = {
  record: null,
  files: [],
  versions: [],
  isSettled: false,
  obstacle: null,
};
/** The refs when there is no archive. */
export const noRefs: ArchivedRefs = { refs: new Map(), kept: new Map() };
/** How to go on without an archive. */
const nothing = { before: noArchive, archived: noRefs, archivedBranch: null, isUsable: false };

/** Whether git's message means that a repository has missing or damaged objects. */
export function isMirrorDamage(message: string): boolean {
  return /bad object|missing blob|missing (?:necessary )?objects|object file .* is empty|loose object|corrupt|did not send all necessary objects|packfile .* (?:cannot be|does not)|index file .* is too small|not a git repository/i.test(
    message,
  );
}

/** Opens a mirror with everything in the archive. Sets a damaged archive aside if the mirror lacks some of it. */
export async function prepareMirror(
  options: MirrorOptions,
  { folder, key }: Place,
  before: ArchiveOnDisk,
  { gitDir, anyId }: { gitDir: string; anyId: string },
): Promise<PreparedMirror> {
  const { git, archiveFolder, now } = options;
  const { mirror, setAside: unusable } = await openMirror(git, gitDir, anyId);
  const archivedBranch = before.record?.head_branch ?? null;
  const good = { before, archivedBranch, isUsable: true, lost: null };
  const isGone = before.record === null || before.files.length === 0;
  if (isGone) {
    const recorded = await readRecordedVersions(folder, key, before, await options.listRecorded());
    const { restorable } = options.recordedVersions;
    if (recorded.versions.length > 0 || (before.files.length > 0 && restorable > 0)) {
      return repair(options, { folder, key, mirror, before, recorded });
    }
  }
  try {
    const archived = await readArchivedRefs(archiveFolder, before);
    await bringArchive(git, mirror, archiveFolder, before, archived);
    if (unusable !== null && before.files.length > 0) {
      await remark(options, 'warn', 'the mirror was damaged and is being rebuilt');
      await removeMirror(unusable);
    } else if (unusable !== null) {
      const text = `the mirror cannot be read, and there is no archive: it is kept as ${unusable}`;
      await remark(options, 'error', text);
    }
    const kept = before.files.length === 0 ? await readKeptRefs(git, mirror) : archived.kept;
    return { ...good, mirror, archived: { ...archived, kept } };
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    const found = await findInMirror(git, mirror, archiveFolder, key, before.versions);
    if (found !== null) {
      const text = 'the archive is damaged and is being rewritten from the mirror';
      await remark(options, 'error', `${text}: ${error.message}`);
      return { ...good, mirror, ...found, isUsable: false };
    }
    // With a damaged mirror, a good archive looks incomplete.
    const rebuilt = await rebuildMirror(options, gitDir, anyId, before);
    if (rebuilt !== null) {
      await remark(options, 'warn', 'the mirror was damaged and is being rebuilt');
      return { ...good, mirror: rebuilt, archived: await readArchivedRefs(archiveFolder, before) };
    }
    const lost = describeSetAside(await setAside(folder, key, now()));
    await remark(options, 'error', `the archive is damaged: ${error.message}`);
    return { ...nothing, mirror, lost };
  }
}

const describeSetAside = (name: string) =>
  `the one before was damaged and is set aside as ${name}: earlier versions exist only there`;

/** The message for an archive that is no longer where it was. */
export function describeLost(count: number): string {
  const versions = count === 1 ? 'version that was' : `${count} versions that were`;
  return `the one before is missing, along with the ${versions} recorded: is BACKUP_ARCHIVE_PATH the right folder, and mounted? (if you moved the archive away yourself, this is reported only once)`;
}

/** The message for a version that neither the note nor a manifest describes any more. */
function describeUnknown({ version }: VersionHash): string {
  return `the one before had neither its note nor the manifest of version ${version}, which can no longer be restored`;
}

/** Rewrites an archive whose note or full bundle is missing, if the mirror and the remaining files have everything. */
async function repair(
  options: MirrorOptions,
  found: {
    folder: string;
    key: string;
    mirror: Mirror;
    before: ArchiveOnDisk;
    recorded: RecordedVersions;
  },
): Promise<PreparedMirror> {
  const { git, archiveFolder, now } = options;
  const { folder, key, mirror, before, recorded } = found;
  const { versions, files } = recorded;
  const find = () => findInMirror(git, mirror, archiveFolder, key, versions);
  let rest = await find();
  if (rest === null) {
    for (const name of files) await addIfIntact(git, mirror, folder, name);
    rest = await find();
  }
  const what = before.files.length === 0 ? 'full bundle' : 'note';
  if (rest !== null) {
    await remark(
      options,
      'error',
      `the ${what} of the archive was missing or not valid: the archive is being rewritten`,
    );
    const known = { ...before, versions, isSettled: false };
    const { newestRestorable: newest } = options.recordedVersions;
    const lost = newest !== null && isOutdated(versions, newest) ? describeUnknown(newest) : null;
    return { ...rest, mirror, before: known, isUsable: false, lost };
  }
  // The mirror's kept refs stay, although it is no longer known which versions they belong to.
  const kept = await readKeptRefs(git, mirror);
  const none = { ...nothing, mirror, archived: { ...noRefs, kept } };
  if (before.files.length === 0) return { ...none, lost: describeLost(versions.length) };
  return { ...none, lost: describeSetAside(await setAside(folder, key, now())) };
}

/** Adds a file to the mirror unless it is missing or damaged. */
async function addIfIntact(git: Git, mirror: Mirror, folder: string, name: string): Promise<void> {
  try {
    await nullIfMissing(addBundle(git, mirror, join(folder, name)));
  } catch (error) {
    if (!(error instanceof ArchiveFault || isGitFailure(error))) throw error;
  }
}

/** Rebuilds a mirror from the archive alone; null, and nothing is replaced, if the archive is damaged. */
export async function rebuildMirror(
  { git, archiveFolder }: MirrorOptions,
  gitDir: string,
  anyId: string,
  before: ArchiveOnDisk,
): Promise<Mirror | null> {
  if (before.files.length === 0) {
    await setMirrorAside(gitDir);
    return (await openMirror(git, gitDir, anyId)).mirror;
  }
  const old = `${gitDir}.old`;
  await removeMirror(old);
  await rename(gitDir, old);
  try {
    const { mirror } = await openMirror(git, gitDir, anyId);
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
 * The refs of the newest version, if the mirror has everything that the versions need; else null. The mirror may be
 * older than the archive, or its import may have been cut short, so everything that older versions had is looked up and
 * kept.
 */
async function findInMirror(
  git: Git,
  mirror: Mirror,
  folder: string,
  key: string,
  versions: readonly VersionEntry[],
): Promise<Pick<PreparedMirror, 'archived' | 'archivedBranch'> | null> {
  const [newest, ...older] = [...versions].reverse();
  const manifest = newest === undefined ? null : await findManifest(folder, key, newest);
  if (manifest === null) return null;
  const refs = new Map(Object.entries(manifest.refs));
  const kept = new Map(await readKeptRefs(git, mirror));
  const known = new Set([...refs.values(), ...kept.values()]);
  for (const entry of older) {
    const earlier = await findManifest(folder, key, entry);
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
    if (isGitFailure(error)) return null;
    throw error;
  }
  return { archived: { refs, kept }, archivedBranch: manifest.head_branch };
}
