import { stat } from 'node:fs/promises';
import { archiveKey } from '../../archives/base/archive-name.ts';
import { orAborted } from '../../async.ts';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import { GitError, isGitFailure } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { type ArchiveState, readArchiveState } from '../archive/archive.ts';
import { checkManifests } from '../archive/recheck.ts';
import type { RepositoryBackup, RepositoryOutcome } from '../archive/repository-backup.ts';
import type { Source } from '../base/source.ts';
import { RunStopped } from '../base/stop.ts';
import { hasMirror } from '../mirror/mirror.ts';
import { type RemoteRefs, readRemoteRefs } from '../mirror/refs.ts';
import { findUnchanged } from './change-detection.ts';
import { isRepository } from './is-repository.ts';
import { updateArchive } from './update-archive.ts';

/**
 * Backs up one repository: fetches what is new into its mirror, and writes it to the archive as a version. Throws
 * GitError, file system errors, RunStopped if the user must log in, or the reason of git's signal. After an error, the
 * archive folder is unchanged, or has the new version if that was already published.
 */
export async function backUpRepository(backup: RepositoryBackup): Promise<RepositoryOutcome> {
  try {
    return await backUp(backup);
  } catch (error) {
    if (isGitFailure(error)) await requireFolder(backup.source);
    throw error;
  }
}

async function backUp(backup: RepositoryBackup): Promise<RepositoryOutcome> {
  const { archiveFolder, source, signal, onStep } = backup;
  const key = archiveKey(source.name);
  const before = await orAborted(signal, () => readArchiveState(archiveFolder, key));
  const credential = () => credentialOf(source);
  const isFirst =
    backup.mayClone &&
    before.files.length === 0 &&
    !(await orAborted(signal, () => hasMirror(backup.mirrorFolder, key)));
  let remote: RemoteRefs | null = null;
  if (!isFirst) {
    await onStep('reading refs');
    remote = await readRemoteRefs(backup, await credential());
    if (remote.refs.size === 0) {
      if (before.files.length === 0) return { status: 'empty' };
      // An archive from an earlier release holds what becomes version 1.
      const { version, ref_count } = before.versions.at(-1) ?? { version: 1, ref_count: 1 };
      await backup.onEmptied(version, ref_count);
      throw describeEmptied(key, before);
    }
    const unchanged = await findUnchanged(backup, before, remote);
    if (unchanged !== null) return { status: 'unchanged', key, record: unchanged };
  }

  const scratch = await makeScratch(archiveFolder);
  try {
    const place = { folder: archiveFolder, key, scratch, checkLease: backup.checkLease };
    const record = await updateArchive({ ...backup, credential }, { place, before, remote });
    if (record === null) return { status: 'empty' };
    const altered = await checkManifests(backup, { key, record, scratch });
    if (altered !== null)
      throw new GitError(`a new version was made, but the archive is damaged: ${altered}`);
    return { status: 'completed', key, record };
  } finally {
    await removeScratch(scratch);
  }
}

/** A source that had refs and has none now may have been emptied by mistake, or by an attacker. */
function describeEmptied(key: string, { record, versions }: ArchiveState): GitError {
  const last = versions.at(-1);
  const had =
    last === undefined ? 'what it had' : `version ${last.version} with ${last.ref_count} refs`;
  const archive = record === null ? key : `${key}, which has ${had}`;
  return new GitError(
    `the repository is empty now, and was not before: nothing is replaced in the archive ${archive} (move it away to accept this)`,
  );
}

/**
 * Throws GitError if a local source does not exist. Only asked once git has failed: in a file system that hangs, git can
 * be stopped, but not a call of our own, which would occupy one of the few threads for all files.
 */
async function requireFolder({ isLocal, location }: Source): Promise<void> {
  if (!isLocal) return;
  const found = await nullIfMissing(stat(location));
  if (found === null) throw new GitError(`there is no folder ${location}${hintAbout(location)}`);
  if (found.isDirectory() && !(await isRepository(location))) {
    throw new GitError(`the folder ${location} is no git repository, and holds none`);
  }
  if (found.isFile())
    throw new GitError(`${location} is a file, and no git bundle that can be read`);
}

/** What a shell leaves alone within quotes ends up in a path. */
function hintAbout(path: string): string {
  if (/(?:^|\/)~/.test(path)) return ': a shell replaces ~ only where it is not in quotes';
  if (!/[*?[]/.test(path)) return '';
  return ': a shell replaces a pattern only where it is not in quotes; a folder of repositories needs none';
}

/**
 * Reads a token for each call, because tokens expire during a long run. Throws GitError if there is none at the moment,
 * and RunStopped if the user must log in again or the login cannot be read, since no other repository would work
 * either.
 */
async function credentialOf({ host, location }: Source): Promise<GitCredential | null> {
  if (host === null) return null;
  try {
    return { location, token: await host.token() };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'SERVICE_UNAVAILABLE') throw new GitError(error.message);
    const exitCode = error.code === 'UNAUTHORIZED' ? 4 : 1;
    throw new RunStopped(error.message, { cause: error, exitCode });
  }
}
