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
  sealBundle,
  settleNote,
} from './archive.ts';
import { findUnchangedArchive } from './change-detection.ts';
import { type FigureLimits, measureClone, uncountedFigures } from './figures.ts';
import type { Progress } from './progress.ts';
import { type Refs, readBundleRefs, readCloneRefs, readRemoteRefs, sameRefs } from './refs.ts';
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
  /** SHA-256 of the archive in the database; null if there is none. */
  recordedSha256: string | null;
  /** Called before each step. */
  onStep(step: BackupStep): Promise<void>;
  /** Called with git's own progress. */
  onProgress?(progress: Progress): void;
  /** Called as soon as a new archive is published, before counting. */
  onPublished(archive: KeptArchive): Promise<void>;
  /** Default: `figureLimits`. */
  figureLimits?: FigureLimits;
  /** Milliseconds that packing may take, in addition to what the size needs. Default: 10 minutes. */
  packTimeoutMs?: number;
}

export type BackupStep = 'reading refs' | 'cloning' | 'writing the archive' | 'counting';

const CLONE_TIMEOUT_MS = 12 * 60 * 60_000;
/** git packs about 25 MB per second, but folders nested thousands deep can take hours with only a few bytes. */
const PACK_TIMEOUT_MS = 10 * 60_000;
const PACK_BYTES_PER_MS = 500;

/**
 * Backs up one repository. If its refs differ from those of the archive, makes a mirror clone and a bundle of
 * all refs, and replaces the archive atomically. Throws GitError, file system errors, RunStopped if the user
 * must log in, or the reason of git's signal. After an error, the archive folder is unchanged, or has the new
 * archive if it was already published.
 */
export async function backUpRepository(backup: RepositoryBackup): Promise<RepositoryOutcome> {
  const { git, archiveFolder, source, recordedSha256, onStep } = backup;
  const { packTimeoutMs = PACK_TIMEOUT_MS } = backup;
  await checkFolder(source);
  await onStep('reading refs');
  const remote = await readRemoteRefs(git, source, await credentialOf(source));
  if (remote.refs.size === 0) return { status: 'empty' };
  const key = archiveKey(source.name);
  const kept = await findUnchangedArchive(backup, key, remote);
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
      increments: [],
      versions: [],
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
 * Reads a token for each call, because tokens expire during a long run. Throws GitError if there is none this
 * time, RunStopped if the user must log in again or the login cannot be read, since no other repository would
 * work either.
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

async function cloneMirror(git: Git, source: Source, gitDir: string) {
  const { location, protocols } = source;
  // `--no-local`: even from a folder, use git's protocol, which copies only reachable objects and checks
  // each.
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

/** Null if HEAD is detached or its branch has no commits. */
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

/** Stored bytes of a repository's objects. */
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
