import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import { type Git, GitError } from '../git/git.ts';
import type { GitCredential } from '../git/git-credential.ts';
import { makeScratch, removeScratch } from '../processes/scratch.ts';
import {
  type ArchiveRecord,
  archiveKey,
  type KeptArchive,
  publishArchive,
  readArchiveRecord,
  sealBundle,
  settleNote,
} from './archive.ts';
import { type FigureLimits, measureClone, uncountedFigures } from './figures.ts';
import {
  type Refs,
  type RemoteRefs,
  readBundleRefs,
  readCloneRefs,
  readRemoteRefs,
  sameRefs,
} from './refs.ts';
import type { Source } from './source.ts';
import { RunStopped } from './stop.ts';

/**
 * How the backup of one repository ended, unless it failed. `empty` has no ref at all: a repository with
 * commits only at a detached HEAD has no branch or tag either, but is archived.
 */
export type RepositoryOutcome =
  | ({ status: 'unchanged' } & KeptArchive)
  | { status: 'empty' }
  | ({ status: 'completed' } & KeptArchive);

export interface RepositoryBackup {
  git: Git;
  archiveFolder: string;
  source: Source;
  /** SHA-256 of the archive as recorded in the database; null if there is none. */
  recordedSha256: string | null;
  /** Called with each step before it begins. */
  onStep(step: BackupStep): Promise<void>;
  /** Called as soon as a new archive is in place, before anything is counted. */
  onPublished(archive: KeptArchive): Promise<void>;
  /** Default: `figureLimits`. */
  figureLimits?: FigureLimits;
  /** Milliseconds that packing may take, in addition to what the size needs. Default: 10 minutes. */
  packTimeoutMs?: number;
}

export type BackupStep = 'reading refs' | 'cloning' | 'writing the archive' | 'counting';

const CLONE_TIMEOUT_MS = 12 * 60 * 60_000;
/** git packs about 25 MB a second. A few bytes of folders, nested thousands deep, can take it hours. */
const PACK_TIMEOUT_MS = 10 * 60_000;
const PACK_BYTES_PER_MS = 500;

/**
 * Backs up one repository: nothing to do if its refs are those of the archive, else a mirror clone, a
 * bundle of all refs, and an atomic swap. Throws GitError, Error of the file system, RunStopped if the
 * person must log in, or the reason of git's signal; the archive folder is then unchanged, or has the new
 * archive if that was published.
 */
export async function backUpRepository(backup: RepositoryBackup): Promise<RepositoryOutcome> {
  const { git, archiveFolder, source, recordedSha256, onStep } = backup;
  const { packTimeoutMs = PACK_TIMEOUT_MS } = backup;
  await checkFolder(source);
  await onStep('reading refs');
  const remote = await readRemoteRefs(git, source, await credentialOf(source));
  if (remote.refs.size === 0) return { status: 'empty' };
  const key = archiveKey(source.name);
  const kept = await findUnchanged(backup, key, remote);
  if (kept !== null) return { status: 'unchanged', key, record: kept };

  const scratch = await makeScratch(archiveFolder);
  try {
    const gitDir = join(scratch, 'clone.git');
    const bundle = join(scratch, 'archive.bundle');
    await onStep('cloning');
    await cloneMirror(git, source, gitDir);
    const refs = await readCloneRefs(git, gitDir);
    const headBranch = await readHeadBranch(git, gitDir);
    await onStep('writing the archive');
    await createBundle(git, { gitDir, bundle, refs, headBranch }, packTimeoutMs);
    const { sha256, blob, sizeBytes, modifiedMs } = await sealBundle(bundle);
    const record: ArchiveRecord = {
      version: 2,
      archive_sha256: sha256,
      archive_size_bytes: sizeBytes,
      archive_modified_ms: modifiedMs,
      head_branch: headBranch,
      host: source.host?.url ?? null,
      archive_blob: blob,
      replacing: null,
      figures: uncountedFigures(refs),
    };
    await publishArchive(bundle, { folder: archiveFolder, key, recordedSha256 }, record);
    await backup.onPublished({ key, record });
    await onStep('counting');
    record.figures = await measureClone(git, gitDir, refs, backup.figureLimits);
    await settleNote(bundle, { folder: archiveFolder, key }, record);
    return { status: 'completed', key, record };
  } finally {
    await removeScratch(scratch);
  }
}

async function checkFolder({ isLocal, location }: Source): Promise<void> {
  if (!isLocal) return;
  const found = await stat(location).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (found === null) throw new GitError(`there is no folder ${location}`);
}

/**
 * A token for each call, as tokens expire during a long run. Throws GitError if there is none this time,
 * RunStopped if the person must log in again or the login cannot be read: nothing else would work then.
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

/**
 * The archive's note if the archive can be kept: it is the recorded one, was not modified since, and has
 * the same refs and HEAD branch as the repository. Its objects are not read again.
 */
async function findUnchanged(
  { git, archiveFolder, recordedSha256 }: RepositoryBackup,
  key: string,
  remote: RemoteRefs,
): Promise<ArchiveRecord | null> {
  const record = await readArchiveRecord(archiveFolder, key);
  if (record === null || record.archive_sha256 !== recordedSha256) return null;
  if (remote.headBranch !== null && remote.headBranch !== record.head_branch) return null;
  const archived = await readArchivedRefs(git, join(archiveFolder, key));
  return archived !== null && sameRefs(archived, remote.refs) ? record : null;
}

/** Null if the archive cannot be read: it is then made again. */
async function readArchivedRefs(git: Git, path: string): Promise<Refs | null> {
  try {
    return await readBundleRefs(git, path);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

async function cloneMirror(git: Git, source: Source, gitDir: string) {
  const { location, protocols } = source;
  // Even from a folder over git's own protocol: only reachable objects, each of them checked.
  const args = ['clone', '--quiet', '--mirror', '--no-local', '--reject-shallow', '--template='];
  try {
    const credential = await credentialOf(source);
    const options = { protocols, timeoutMs: CLONE_TIMEOUT_MS, credential };
    await git.read([...args, '--', location, gitDir], options);
  } catch (error) {
    if (error instanceof GitError && /source repository is shallow/.test(error.message)) {
      throw new GitError(
        'the repository is shallow, so its history is incomplete; run `git fetch --unshallow` in it',
      );
    }
    throw error;
  }
}

/** Null if HEAD is detached, or names a branch without commits. */
async function readHeadBranch(git: Git, gitDir: string): Promise<string | null> {
  const lines = await git.read([
    `--git-dir=${gitDir}`,
    'for-each-ref',
    '--format=%(HEAD)%(refname)',
    'refs/heads/',
  ]);
  const head = lines.split('\n').find((line) => line.startsWith('*'));
  return head === undefined ? null : head.slice(1);
}

/** Bytes of a repository's objects as they are stored. */
async function readPackedBytes(git: Git, gitDir: string): Promise<number> {
  const lines = await git.read([`--git-dir=${gitDir}`, 'count-objects', '-v']);
  const kibibytes = [...lines.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, size]) =>
    Number(size),
  );
  return kibibytes.reduce((total, size) => total + size * 1024, 0);
}

interface Clone {
  gitDir: string;
  bundle: string;
  refs: Refs;
  headBranch: string | null;
}

async function createBundle(
  git: Git,
  { gitDir, bundle, refs, headBranch }: Clone,
  packTimeoutMs: number,
): Promise<void> {
  // A bundle does not record HEAD's branch: `git clone` takes the last one at HEAD's commit.
  const revisions =
    headBranch === null ? ['--all'] : [`--exclude=${headBranch}`, '--all', headBranch];
  const args = [`--git-dir=${gitDir}`, 'bundle', 'create', '--quiet', bundle, ...revisions];
  const scaledMs = packTimeoutMs + (await readPackedBytes(git, gitDir)) / PACK_BYTES_PER_MS;
  await git.read(args, { timeoutMs: Math.min(scaledMs, CLONE_TIMEOUT_MS) });
  if (!sameRefs(await readBundleRefs(git, bundle), refs)) {
    throw new GitError('the archive that git wrote does not contain all refs of the clone');
  }
}
