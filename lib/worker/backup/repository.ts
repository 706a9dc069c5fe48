import { archiveKey } from '../../archives/base/archive-name.ts';
import { digestRefs } from '../../archives/base/manifest.ts';
import type { Environment } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import { NotAFile } from '../../files.ts';
import { createGit, GitError, isGitFailure } from '../../git/git.ts';
import { type GitCredential, gitSettings } from '../../git/git-credential.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { newAnomaly } from '../../records/anomalies/new-anomaly.ts';
import { type RepoState, readRepoState } from '../../records/recording/repo-state.ts';
import { listRestorable } from '../../records/recording/versions.ts';
import {
  type ArchiveOnDisk,
  type ArchiveRecord,
  archiveBytes,
  readArchiveOnDisk,
  readArchiveRecord,
} from '../archive/archive.ts';
import { isOutdated } from '../archive/manifests.ts';
import type { Place } from '../archive/publish.ts';
import { checkManifests } from '../archive/recheck.ts';
import { HOLD_ALL, type Hold } from '../archive/retention.ts';
import { DamagedArchive, readArchivedRefs } from '../archive/versions/archived-refs.ts';
import type { RepositoryEntry } from '../base/run-entry.ts';
import type { Source } from '../base/source.ts';
import { RunStopped } from '../base/stop.ts';
import { requireWhole } from '../mirror/incomplete-source.ts';
import { hasMirror, mirrorPath } from '../mirror/mirror.ts';
import { type RemoteRefs, readRemoteRefs } from '../mirror/refs.ts';
import { type Backup, type BackupContext, begin, type Job, remark } from './backup.ts';
import { deliver, type Waiting } from './deliver.ts';
import { neededBytes } from './disk-room.ts';
import { explainFailure } from './explain-failure.ts';
import { explainFolder } from './explain-folder.ts';
import { cloneFirst, type Fetched, fetchUpdate, type Stage } from './fetch-source.ts';
import { type Failure, failure, type Outcome, type Success } from './outcome.ts';
import { describeLost, rebuildMirror } from './prepare-mirror.ts';
import { reconcileVersions } from './reconcile-versions.ts';
import { writeUpdate } from './write-update.ts';

/** The exit code if the user must log in. */
const LOGIN_REQUIRED = 4;

/**
 * Tries once to back up a repository: makes its archive as the source is now, and delivers it to every place that lacks
 * it. A failure of the repository is an outcome; a failure to push is known only when the waiting archives are pushed
 * together. Throws only what stops the run: the signal's reason, a login that the user must renew, or, in a run of several
 * workers, an unavailable database.
 */
export async function backUpRepository(
  context: BackupContext,
  job: Job,
): Promise<Outcome | Waiting> {
  const { source } = job;
  if (source.host?.fault) return failure(source.host.fault);
  const key = archiveKey(source.name);
  const state = await readState(context, source, key);
  if (state.otherOwner !== null) {
    return failure(`the archive ${key} belongs to ${state.otherOwner}`);
  }
  const tell = (entry: RepositoryEntry) =>
    context.journal.tell({ ...entry, repository: source.name });
  const reserved: { release?: () => void } = {};
  const found: { fault: string | null; isRemade: boolean } = {
    fault: job.altered === null ? null : `the archive is damaged: ${job.altered}`,
    isRemade: false,
  };
  const backup: Backup = {
    ...context,
    ...recordedOf(job, state),
    git: createGit(gitEnvironment(context), context.signal),
    source,
    runId: context.journal.store.run?.id ?? null,
    mayClone: !context.mirrorLacks.includes('permissions'),
    isDamaged: job.isDamaged,
    hold: holdOf(state),
    now: context.time.now,
    checkClock: context.time.check,
    credential: () => credentialOf(source),
    async reserveRoom() {
      reserved.release ??= await reserveRoom(context, source, key);
    },
    listRecorded: () =>
      context.journal.store.read(
        (db) => listRestorable(db, source.name),
        () => null,
      ),
    madeAnew(reason) {
      found.isRemade ||= found.fault === null;
      found.fault ??= reason;
    },
    async tell(entry) {
      await tell(entry);
      if (entry.type === 'archive') job.publishedSha256 = entry.sha256;
    },
  };
  try {
    await reconcileVersions(context, { repository: source.name, key }, state);
    const made = await updateArchive(backup);
    // What an earlier attempt of this run archived no longer looks new.
    const wasArchived = made.status === 'unchanged' && job.publishedSha256 !== null;
    const outcome = wasArchived ? { ...made, status: 'completed' as const } : made;
    const hasFailed = state.hasFailed ?? false;
    const delivered = await deliver(context, source, outcome, { tell, hasFailed });
    const { fault, isRemade } = found;
    return fault === null ? delivered : withFault(delivered, { ...failure(fault), isRemade });
  } catch (error) {
    return explainFailure(context, source, error, state.wasRead);
  } finally {
    reserved.release?.();
  }
}

/**
 * Makes the archive of a repository as its source is now: fetches what is new into the mirror, and writes it as a
 * version. Throws GitError, file system errors, RunStopped if the user must log in, or the reason of git's signal. After
 * an error, the archive folder is unchanged, or has the new version if that was already published.
 */
export async function updateArchive(backup: Backup): Promise<Success> {
  const { archiveFolder, mirrorFolder, source, checkLease } = backup;
  const key = archiveKey(source.name);
  const before = await readTrusted(backup, key);
  if (before.obstacle !== null) throw new NotAFile(before.obstacle);
  // The first time, the refs are not asked for: the clone lists them. Git cannot clone where it may not set permissions.
  const isFirst =
    backup.mayClone && before.files.length === 0 && !(await hasMirror(mirrorFolder, key));
  try {
    let remote: RemoteRefs | null = null;
    if (!isFirst) {
      await begin(backup, 'reading refs');
      remote = await readRemoteRefs(backup, await backup.credential());
      await requireWhole(source);
      if (remote.refs.size === 0) return await refuseEmptied(backup, key, before);
      const unchanged = await findUnchanged(backup, before, remote);
      if (unchanged !== null) return { status: 'unchanged', key, record: unchanged };
    }
    await remark(backup, 'info', `${describeBefore(backup, before)}, fetching`);
    await backup.reserveRoom();
    const scratch = await makeScratch(archiveFolder);
    try {
      const place = { folder: archiveFolder, key, scratch, checkLease };
      const record =
        remote === null
          ? await cloneAndWrite(backup, place, before)
          : await fetchAndWrite(backup, place, before, remote);
      if (record === null) return { status: 'empty' };
      const altered = await checkManifests(backup, { key, record, scratch });
      if (altered === null) return { status: 'completed', key, record };
      throw new GitError(`a new version was made, but the archive is damaged: ${altered}`);
    } finally {
      await removeScratch(scratch);
    }
  } catch (error) {
    if (isGitFailure(error)) await explainFolder(source);
    throw error;
  }
}

/** Why a repository is fetched. */
function describeBefore(
  { recordedVersions: { restorable } }: Backup,
  { record, files }: ArchiveOnDisk,
): string {
  if (files.length === 0) return restorable > 0 ? 'its archive is missing' : 'no archive yet';
  return record === null && restorable > 0
    ? 'the note of its archive is missing or was replaced'
    : 'changed';
}

/** What is in the archive folder. A note that is not the one recorded last does not count: it may be an older copy. */
async function readTrusted(
  { archiveFolder, recordedVersions }: Backup,
  key: string,
): Promise<ArchiveOnDisk> {
  const state = await readArchiveOnDisk(archiveFolder, key);
  const { record } = state;
  // Without the full bundle, the note alone says what there was.
  const versions = state.files.length === 0 ? (record?.versions ?? []) : state.versions;
  const isTrusted = record === null || !isOutdated(versions, recordedVersions.newestRestorable);
  if (isTrusted) return state;
  const files = state.files.slice(0, 1).map((bundle) => ({ ...bundle, sha256: null }));
  return { ...state, record: null, versions: [], isSettled: false, files };
}

/** Makes the first version of an archive. Returns its note; null if the source has no refs. */
async function cloneAndWrite(
  backup: Backup,
  place: Place,
  before: ArchiveOnDisk,
): Promise<ArchiveRecord | null> {
  const cloned = await cloneFirst(backup, place, before);
  return cloned && writeUpdate(backup, place, withLost(backup, before, cloned));
}

/** Makes a further version of an archive, if need be with the mirror made again. Returns its note. */
async function fetchAndWrite(
  backup: Backup,
  place: Place,
  found: ArchiveOnDisk,
  remote: RemoteRefs,
): Promise<ArchiveRecord> {
  const stage: Stage = { isLocal: true, isPublished: false };
  const staged: Backup = {
    ...backup,
    tell(entry) {
      stage.isPublished ||= entry.type === 'archive';
      return backup.tell(entry);
    },
  };
  const update = async (before: ArchiveOnDisk) => {
    const fetched = await fetchUpdate(staged, place, before, { remote, stage });
    return writeUpdate(staged, place, withLost(backup, found, fetched));
  };
  try {
    return await update(found);
  } catch (error) {
    const isLocal = stage.isLocal && !stage.isPublished;
    if (!isLocal || !isGitFailure(error)) throw error;
    // Only the mirror was read and written, so the mirror may be damaged.
    const gitDir = mirrorPath(backup.mirrorFolder, place.key);
    const [anyId = ''] = remote.refs.values();
    const before = await readTrusted(staged, place.key);
    if ((await rebuildMirror(backup, gitDir, anyId, before)) === null) throw error;
    await remark(backup, 'warn', `the mirror was damaged and is being rebuilt: ${error.message}`);
    return update(before);
  }
}

/**
 * The note of an archive whose newest version has the refs and the HEAD branch of the source; else null. Reads no
 * objects, and the archive only if an earlier release wrote it.
 */
async function findUnchanged(
  { archiveFolder, recordedSha256, isDamaged }: Backup,
  before: ArchiveOnDisk,
  remote: RemoteRefs,
): Promise<ArchiveRecord | null> {
  const { record, isSettled } = before;
  if (isDamaged || record === null || !isSettled) return null;
  if (record.archive_sha256 !== recordedSha256) return null;
  if (remote.headBranch !== null && remote.headBranch !== record.head_branch) return null;
  const archivedRefs = record.refs_sha256 ?? (await digestArchived(archiveFolder, before));
  const remoteRefs = digestRefs(remote.refs);
  return archivedRefs === remoteRefs ? record : null;
}

/** The digest of an archive from an earlier release. Null if it cannot be read, so that it is rewritten. */
async function digestArchived(folder: string, archive: ArchiveOnDisk): Promise<string | null> {
  try {
    return digestRefs((await readArchivedRefs(folder, archive)).refs);
  } catch (error) {
    if (error instanceof DamagedArchive) return null;
    throw error;
  }
}

/**
 * A source without refs is empty, unless it had some before: then it may have been emptied by mistake, or by an attacker,
 * and GitError is thrown.
 */
async function refuseEmptied(
  { tell }: Backup,
  key: string,
  { record, files, versions }: ArchiveOnDisk,
): Promise<Success> {
  if (files.length === 0) return { status: 'empty' };
  const last = versions.at(-1);
  // An archive from an earlier release holds what becomes version 1.
  const { version, ref_count: refCount } = last ?? { version: 1, ref_count: 1 };
  const anomaly = newAnomaly('emptied', [['refs', `${refCount}`, '0']]);
  await tell({ type: 'anomaly', version, anomaly });
  const had =
    last === undefined ? 'what it had' : `version ${last.version} with ${last.ref_count} refs`;
  const archive = record === null ? key : `${key}, which has ${had}`;
  throw new GitError(
    `the repository is empty now, and was not before: nothing is replaced in the archive ${archive} (move it away to accept this)`,
  );
}

/** Marks what was fetched if the database lists an archive that is gone, for example because a disk is not mounted. */
function withLost(
  { recordedVersions: { restorable } }: Backup,
  { record, files }: ArchiveOnDisk,
  fetched: Fetched,
): Fetched {
  const isRepaired = fetched.before.versions.length > 0;
  const isGone = record === null && files.length === 0 && restorable > 0 && !isRepaired;
  return isGone && fetched.lost === null ? { ...fetched, lost: describeLost(restorable) } : fetched;
}

/** What is recorded about a repository. Without the database, the note beside the archive says whether it is unchanged. */
function readState(
  { journal: { store }, archiveFolder }: BackupContext,
  { name }: Source,
  key: string,
): Promise<RepoState> {
  return store.read<RepoState>(
    (db) => readRepoState(db, name, key),
    async (): Promise<RepoState> => {
      const record = await readArchiveRecord(archiveFolder, key);
      const archiveSha256 = record?.archive_sha256 ?? null;
      return { archiveSha256, otherOwner: null, wasRead: record !== null };
    },
  );
}

function recordedOf(
  { publishedSha256 }: Job,
  { archiveSha256, newestVersion, restorableVersions, newestRestorable }: RepoState,
): Pick<Backup, 'recordedSha256' | 'recordedVersions'> {
  // What an earlier attempt wrote was not there before the run.
  const wasThere = publishedSha256 === null;
  return {
    recordedSha256: publishedSha256 ?? archiveSha256,
    recordedVersions: {
      newest: newestVersion ?? 0,
      restorable: wasThere ? (restorableVersions ?? 0) : 0,
      newestRestorable: newestRestorable ?? null,
    },
  };
}

/** Without the database, confirmations are unknown. */
function holdOf({ confirmed, hasMissing }: RepoState): Hold {
  if (confirmed === undefined) return HOLD_ALL;
  const text = 'many repositories were missing at once, and nobody has confirmed that';
  return { all: hasMissing === true ? text : null, confirmed };
}

/** git ends with an error where it cannot flush files. */
function gitEnvironment({ environment, mirrorLacks }: BackupContext): Environment {
  if (!mirrorLacks.includes('fsync')) return environment;
  return { ...environment, ...gitSettings(environment, [['core.fsync', 'none']]) };
}

/** Throws DiskFull. */
async function reserveRoom(
  { room, archiveFolder }: BackupContext,
  { host }: Source,
  key: string,
): Promise<() => void> {
  const archived = await readArchiveRecord(archiveFolder, key);
  const archivedBytes = archived === null ? 0 : archiveBytes(archived);
  return room.reserve(neededBytes(host?.sizeBytes ?? null, archivedBytes));
}

/** An archive with a fault that no backup can repair, or that lacks earlier versions, is delivered, and reported. */
function withFault(delivered: Outcome | Waiting, damaged: Failure): Outcome | Waiting {
  if (delivered.status !== 'waiting') return damaged;
  const conclude = async () => {
    await delivered.conclude();
    return damaged;
  };
  return { status: 'waiting', conclude };
}

/**
 * Throws GitError if there is no token at the moment, and RunStopped if the user must log in again or the login cannot
 * be read, since no other repository would work either.
 */
async function credentialOf({ host, location }: Source): Promise<GitCredential | null> {
  if (host === null) return null;
  try {
    return { location, token: await host.token() };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'SERVICE_UNAVAILABLE') throw new GitError(error.message);
    const exitCode = error.code === 'UNAUTHORIZED' ? LOGIN_REQUIRED : 1;
    throw new RunStopped(error.message, { cause: error, exitCode });
  }
}
