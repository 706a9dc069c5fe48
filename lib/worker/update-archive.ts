import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestRefs } from '../archives/manifest.ts';
import { MAX_VERSIONS, type VersionEntry } from '../archives/note.ts';
import { nullIfMissing } from '../files.ts';
import { GitError } from '../git/git.ts';
import type { GitCredential } from '../git/git-credential.ts';
import {
  type ArchiveRecord,
  type ArchiveState,
  hashArchiveFile,
  type Place,
  readArchiveState,
  settleNote,
} from './archive.ts';
import { cloneSource } from './clone.ts';
import { transferChecked } from './fetch.ts';
import { measureClone } from './figures.ts';
import { joinPacks } from './housekeeping.ts';
import { describeMissing } from './lfs.ts';
import {
  dropSourceHead,
  fetchSource,
  type Mirror,
  mirrorPath,
  packRefs,
  readSourceRefs,
  setKeptRefs,
  sourceRevisions,
} from './mirror.ts';
import {
  describeLost,
  isMirrorDamage,
  noRefs,
  type PreparedMirror,
  prepareMirror,
  rebuildMirror,
} from './prepare-mirror.ts';
import type { Refs, RemoteRefs } from './refs.ts';
import type { RepositoryBackup } from './repository-backup.ts';
import { findOverwritten, keepLost } from './versions/overwritten.ts';
import { findKept, PruningRefused, pruneVersions } from './versions/prune.ts';
import { readRecordedVersions } from './versions/recorded-versions.ts';
import { warnOfRefs, warnOfSize } from './versions/warnings.ts';
import { nameVersions, writeVersion } from './versions/write-version.ts';

/** From this number on, a file for each ref makes git slow. */
const MANY_REFS = 1_000;

export interface Update {
  place: Place;
  before: ArchiveState;
  /** Null if there is neither an archive nor a mirror: cloning will tell. */
  remote: RemoteRefs | null;
}

type UpdateOptions = RepositoryBackup & { credential(): Promise<GitCredential | null> };

/** What an update works with once the source is fetched. */
interface Fetched extends PreparedMirror {
  refs: Refs;
  headBranch: string | null;
}

/**
 * Fetches a source whose refs differ from its archive, and makes a new version. Returns the note of the archive;
 * null if the source has no refs and never had any. Throws like `backUpRepository`.
 */
export async function updateArchive(
  options: UpdateOptions,
  { place, before: found, remote }: Update,
): Promise<ArchiveRecord | null> {
  if (remote === null) {
    const cloned = await cloneFirst(options, place, found);
    return cloned === null ? null : writeUpdate(options, place, cloned);
  }
  const stage: Stage = { isLocal: true, isPublished: false };
  const watched: UpdateOptions = {
    ...options,
    async onPublished(archive) {
      stage.isPublished = true;
      await options.onPublished(archive);
    },
  };
  const update = async () =>
    writeUpdate(watched, place, await fetchUpdate(watched, place, found, { remote, stage }));
  try {
    return await update();
  } catch (error) {
    const isLocal = stage.isLocal && !stage.isPublished;
    if (!isLocal || !(error instanceof GitError) || error.fault !== 'failed') throw error;
    // Only the mirror was read and written, so it may be damaged.
    const gitDir = mirrorPath(options.mirrorFolder, place.key);
    const [anyId = ''] = remote.refs.values();
    const before = await readArchiveState(place.folder, place.key);
    if ((await rebuildMirror(options, gitDir, anyId, before)) === null) throw error;
    await options.onRemark('warn', `the mirror was damaged and is built again: ${error.message}`);
    return update();
  }
}

/** How far an update has come, which decides what its failure means. */
interface Stage {
  /** Whether git works on the mirror alone, not on the source. */
  isLocal: boolean;
  isPublished: boolean;
}

/** Makes a version of what was fetched, or records the archive again. */
async function writeUpdate(
  options: UpdateOptions,
  place: Place,
  fetched: Fetched,
): Promise<ArchiveRecord> {
  const { before, archived, refs, headBranch, lost } = fetched;
  const isSame =
    before.record !== null &&
    before.files.length > 0 &&
    headBranch === before.record.head_branch &&
    digestRefs(refs) === digestRefs(archived.refs);
  // Files that the note does not describe exactly are read before they are continued or recorded again.
  const mustRead = before.files.length > 0 && (isSame || !before.isSettled);
  const isUsable = fetched.isUsable && (!mustRead || (await areFilesGood(place, before)));
  if (fetched.isUsable && !isUsable && before.record !== null) {
    const text = 'a file of the archive is not the one that was recorded: it is written again';
    await options.onRemark('error', text);
  }
  const record =
    isSame && isUsable
      ? await confirmArchive(options, place, before, refs)
      : await writeFetched(options, place, { ...fetched, isUsable }, isSame);
  if (lost === null) return record;
  throw new GitError(`a new archive was made, because ${lost}`);
}

/** Null if the source has no refs. */
async function cloneFirst(
  options: UpdateOptions,
  { folder: archiveFolder, key }: Place,
  before: ArchiveState,
): Promise<Fetched | null> {
  const { git, mirrorFolder: folder, onStep, onRemark } = options;
  const gitDir = mirrorPath(folder, key);
  await onStep('cloning');
  const { result, defect } = await transferChecked(options, (from, transfer) =>
    cloneSource(git, { gitDir, folder }, from, transfer),
  );
  if (result === null) return null;
  if (defect !== null) await onRemark('warn', describeDefect(defect));
  const { versions } = await readRecordedVersions(archiveFolder, key, before);
  const lost = versions.length === 0 ? null : describeLost(versions.length);
  const none = { ...before, record: null };
  return { ...result, before: none, archived: noRefs, isUsable: true, lost };
}

const describeDefect = (defect: string) => `archived with a defect that the source has: ${defect}`;

async function fetchUpdate(
  options: UpdateOptions,
  place: Place,
  before: ArchiveState,
  { remote, stage }: { remote: RemoteRefs; stage: Stage },
): Promise<Fetched> {
  const { git, mirrorFolder, onStep, onRemark } = options;
  const [anyId = ''] = remote.refs.values();
  const gitDir = mirrorPath(mirrorFolder, place.key);
  const withHead = remote.refs.has('HEAD');
  const fetch = async (mirror: Mirror) => {
    stage.isLocal = false;
    const { defect } = await transferChecked(options, (from, transfer) =>
      fetchSource(git, mirror, { ...from, withHead }, transfer),
    );
    stage.isLocal = true;
    if (remote.refs.size > MANY_REFS) await packRefs(git, mirror);
    return defect;
  };

  let prepared = await prepareMirror(options, place, before, { gitDir, anyId });
  await onStep('cloning');
  let defect: string | null;
  try {
    defect = await fetch(prepared.mirror);
  } catch (error) {
    if (!(error instanceof GitError && isMirrorDamage(error.message))) throw error;
    await onRemark('warn', `the mirror was damaged and is built again: ${error.message}`);
    const mirror = await rebuildMirror(options, gitDir, anyId, prepared.before);
    if (mirror === null) throw error;
    prepared = { ...prepared, mirror };
    defect = await fetch(mirror);
  }
  if (defect !== null) await onRemark('warn', describeDefect(defect));
  const { mirror } = prepared;
  if (!withHead) await dropSourceHead(git, mirror);
  const refs = await readSourceRefs(git, mirror);
  if (refs.size === 0) throw new GitError('the repository was emptied while it was being read');
  const { headBranch } = remote;
  return {
    ...prepared,
    isUsable: prepared.isUsable && !options.isDamaged,
    refs,
    // HEAD may have moved to another branch since it was read.
    headBranch:
      headBranch !== null && refs.get(headBranch) === refs.get('HEAD') ? headBranch : null,
  };
}

/** Whether every file of an archive has the SHA-256 that its note records. */
async function areFilesGood({ folder }: Place, { files }: ArchiveState): Promise<boolean> {
  for (const { name, sha256 } of files) {
    const found = await nullIfMissing(hashArchiveFile(join(folder, name)));
    if (found === null || found !== sha256) return false;
  }
  return true;
}

/** Records again an archive that has the refs of the source already, and whose files were just read. */
async function confirmArchive(
  { source, now, onPublished }: UpdateOptions,
  place: Place,
  { record, files, versions }: ArchiveState,
  refs: Refs,
): Promise<ArchiveRecord> {
  const [bundle] = files;
  if (record === null || bundle === undefined || bundle.sha256 === null) {
    throw new Error('an archive without a note was confirmed');
  }
  const { mtimeMs } = await stat(join(place.folder, place.key));
  const confirmed: ArchiveRecord = {
    ...record,
    archive_sha256: bundle.sha256,
    archive_size_bytes: bundle.sizeBytes,
    archive_modified_ms: Math.floor(mtimeMs),
    versions: [...versions],
    address: record.address ?? source.location,
    host: source.host?.url ?? null,
    refs_sha256: digestRefs(refs),
    checked_at: new Date(now()).toISOString(),
  };
  await settleNote(place, confirmed);
  await onPublished({ key: place.key, record: confirmed });
  return confirmed;
}

/** Writes what was fetched as a new version, or the same version again if only its files are bad. */
async function writeFetched(
  options: UpdateOptions,
  place: Place,
  fetched: Fetched,
  isSame: boolean,
): Promise<ArchiveRecord> {
  const { git, source, onStep, onPublished, onVersion, onRemark } = options;
  const { mirror, before, archived, refs } = fetched;
  const versions = await nameVersions(source, place, before, archived);
  if (versions.length >= MAX_VERSIONS && !isSame) {
    throw new GitError(
      `the archive ${place.key} has ${versions.length} versions, and no more fit: move it away, and a new one begins`,
    );
  }
  const previous = versions.at(-1);
  const overwritten = await findOverwritten(git, mirror, archived.refs, refs);
  const kept = new Map(await withoutPruned(options, { ...fetched, place, versions }));
  if (previous !== undefined) {
    for (const [name, id] of keepLost(previous.version, overwritten.lost)) kept.set(name, id);
  }
  // A mirror that was just cloned has none.
  if (kept.size > 0 || before.files.length > 0) await setKeptRefs(git, mirror, kept);
  const headBranch = before.record?.head_branch ?? null;
  const had = { refs: archived.refs, headBranch };
  const warning = await warnOfRefs(git, mirror, had, refs);
  await onStep('writing the archive');
  const contents = { ...fetched, place, versions, kept, isSame, warning };
  const { record, facts } = await writeVersion(options, contents);
  await onPublished({ key: place.key, record });
  if (facts !== null) await onVersion(facts);
  if (warning !== null)
    await onRemark('warn', `${warning}; what was there is kept in version ${previous?.version}`);
  if (overwritten.deleted.length > 0) await onRemark('info', describeDeleted(overwritten.deleted));
  await onStep('counting');
  const figures = await measureClone(
    git,
    mirror.gitDir,
    refs,
    options.figureLimits,
    sourceRevisions,
  );
  const counted = { ...record, figures, incomplete: describeMissing(figures.lfs) };
  const shrunk =
    warning === null && before.record !== null && facts !== null
      ? warnOfSize(before.record.figures, figures)
      : null;
  const settled = shrunk === null ? counted : withWarning(counted, shrunk);
  await settleNote(place, settled);
  if (shrunk !== null && facts !== null) {
    await onVersion({ ...facts, warning: shrunk });
    await onRemark('warn', `${shrunk}; what was there is kept in version ${previous?.version}`);
  }
  return finish(options, place, fetched, settled);
}

/** The kept refs of an archive, without those that only pruned versions needed. */
async function withoutPruned(
  { git }: UpdateOptions,
  {
    mirror,
    place,
    versions,
    archived,
    refs,
  }: Fetched & { place: Place; versions: readonly VersionEntry[] },
): Promise<Refs> {
  const numbers = new Set(versions.map(({ version }) => version));
  const versionOf = (name: string) => Number(/^refs\/kept\/(\d+)/.exec(name)?.[1]);
  if ([...archived.kept.keys()].every((name) => numbers.has(versionOf(name)))) return archived.kept;
  try {
    return await findKept({ git, mirror, place }, versions, refs);
  } catch (error) {
    if (error instanceof PruningRefused) return archived.kept;
    throw error;
  }
}

/** Lets go old versions and tidies the mirror. A failure of either leaves the archive as it is. */
async function finish(
  { git, retention, now, onPruned, onRemark }: UpdateOptions,
  place: Place,
  { mirror, refs }: Fetched,
  record: ArchiveRecord,
): Promise<ArchiveRecord> {
  try {
    const pruned = await pruneVersions({
      git,
      mirror,
      place,
      record,
      refs,
      policy: retention,
      now: now(),
    });
    if (pruned.versions.length > 0) await onPruned(pruned.versions.map(({ version }) => version));
    await joinPacks(git, mirror);
    return pruned.record;
  } catch (error) {
    if (error instanceof PruningRefused) {
      await onRemark('error', `no version is let go: ${error.message}`);
      return record;
    }
    if (!(error instanceof GitError) || error.fault === 'missing') throw error;
    await onRemark('warn', `housekeeping failed: ${error.message}`);
    return record;
  }
}

function withWarning(record: ArchiveRecord, warning: string): ArchiveRecord {
  const versions = record.versions.map((entry, index) =>
    index === record.versions.length - 1 ? { ...entry, warning } : entry,
  );
  return { ...record, versions };
}

function describeDeleted(names: readonly string[]): string {
  const [first] = names;
  const others = names.length === 1 ? '' : ` and ${names.length - 1} more`;
  return `deleted at the source, kept here: ${first}${others}`;
}
