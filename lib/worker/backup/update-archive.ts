import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestRefs } from '../../archives/base/manifest.ts';
import { GitError, isGitFailure } from '../../git/git.ts';
import {
  type ArchiveRecord,
  type ArchiveState,
  findBadFile,
  readArchiveState,
} from '../archive/archive.ts';
import { type Place, settleNote } from '../archive/publish.ts';
import { mirrorPath } from '../mirror/mirror.ts';
import { type Refs, type RemoteRefs, sameRefs } from '../mirror/refs.ts';
import {
  cloneFirst,
  type Fetched,
  fetchUpdate,
  type Stage,
  type UpdateOptions,
} from './fetch-update.ts';
import { describeLost, rebuildMirror } from './prepare-mirror.ts';
import { writeFetched } from './write-fetched.ts';

export interface Update {
  place: Place;
  before: ArchiveState;
  /** Null if there is neither an archive nor a mirror: cloning reveals the refs. */
  remote: RemoteRefs | null;
}

/**
 * Fetches a source whose refs differ from its archive, and writes a new version. Returns the archive's note; null if
 * the source has no refs and never had any. Throws like `backUpRepository`.
 */
export async function updateArchive(
  options: UpdateOptions,
  { place, before: found, remote }: Update,
): Promise<ArchiveRecord | null> {
  if (remote === null) {
    const cloned = await cloneFirst(options, place, found);
    return cloned === null ? null : writeUpdate(options, place, withLost(options, found, cloned));
  }
  const stage: Stage = { isLocal: true, isPublished: false };
  const watched: UpdateOptions = {
    ...options,
    async onPublished(archive) {
      stage.isPublished = true;
      await options.onPublished(archive);
    },
  };
  const update = async (before: ArchiveState) =>
    writeUpdate(
      watched,
      place,
      withLost(options, found, await fetchUpdate(watched, place, before, { remote, stage })),
    );
  try {
    return await update(found);
  } catch (error) {
    const isLocal = stage.isLocal && !stage.isPublished;
    if (!isLocal || !isGitFailure(error)) throw error;
    // Only the mirror was read and written, so the mirror may be damaged.
    const gitDir = mirrorPath(options.mirrorFolder, place.key);
    const [anyId = ''] = remote.refs.values();
    const before = await readArchiveState(place.folder, place.key);
    if ((await rebuildMirror(options, gitDir, anyId, before)) === null) throw error;
    await options.onRemark('warn', `the mirror was damaged and is being rebuilt: ${error.message}`);
    return update(before);
  }
}

/** Detects an archive that the database lists but that is missing, for example because a disk is not mounted. */
function withLost(
  { recordedVersions: { restorable } }: UpdateOptions,
  { record, files }: ArchiveState,
  fetched: Fetched,
): Fetched {
  const isGone = record === null && files.length === 0 && restorable > 0;
  return isGone && fetched.lost === null ? { ...fetched, lost: describeLost(restorable) } : fetched;
}

/** Writes what was fetched as a version, or records the existing archive again. */
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
    sameRefs(refs, archived.refs);
  // Files that the note does not describe exactly are read before they are appended to or recorded again.
  const mustRead = before.files.length > 0 && (isSame || !before.isSettled);
  const isUsable =
    fetched.isUsable && (!mustRead || (await findBadFile(place.folder, before.files)) === null);
  if (fetched.isUsable && !isUsable && before.record !== null) {
    const text = 'a file of the archive is not the one that was recorded: it is being rewritten';
    await options.onRemark('error', text);
  }
  const record =
    isSame && isUsable
      ? await confirmArchive(options, place, before, refs)
      : await writeFetched(options, place, { ...fetched, isUsable }, isSame);
  if (lost === null) return record;
  throw new GitError(`a new archive was made, because ${lost}`);
}

/** Re-records an archive that already has the refs of the source, and whose files were just read. */
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
    repository: source.name,
    address: record.address ?? source.location,
    host: source.host?.url ?? null,
    refs_sha256: digestRefs(refs),
    checked_at: new Date(now()).toISOString(),
  };
  await settleNote(place, confirmed);
  await onPublished({ key: place.key, record: confirmed });
  return confirmed;
}
