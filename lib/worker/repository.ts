import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Git, GitError } from '../platform/git.ts';
import type { GitCredential } from '../platform/git-credential.ts';
import { makeScratch, removeScratch } from '../platform/scratch.ts';
import {
  type ArchiveRecord,
  archiveKey,
  publishArchive,
  readArchiveRecord,
  sealBundle,
} from './archive.ts';
import { readCredential } from './credential.ts';
import { measureClone } from './figures.ts';
import {
  type Refs,
  type RemoteRefs,
  readBundleRefs,
  readCloneRefs,
  readRemoteRefs,
  sameRefs,
} from './refs.ts';
import type { Source } from './source.ts';

/**
 * How the backup of one repository ended, when it did not fail. `empty` has no ref at all: one whose
 * only commits are at a detached HEAD has no branch or tag either, but is archived, not lost (spec 1).
 */
export type RepositoryOutcome =
  | { status: 'unchanged'; key: string; record: ArchiveRecord }
  | { status: 'empty' }
  | { status: 'completed'; key: string; record: ArchiveRecord };

export interface RepositoryBackup {
  git: Git;
  archiveFolder: string;
  source: Source;
  /** SHA-256 recorded for the archive in the database; null when none is. */
  recordedSha256: string | null;
  /** Called with each step before it begins. */
  onStep(step: BackupStep): Promise<void>;
}

export type BackupStep = 'reading refs' | 'cloning' | 'writing the archive';

const CLONE_TIMEOUT_MS = 12 * 60 * 60_000;

/**
 * Backs one repository up: nothing to do while its refs are those of the archive, else a mirror clone, a
 * bundle of all refs, and an atomic swap. Throws GitError, Error of the file system, RunStopped when one
 * has to log in, or the reason of git's signal; the archive folder then holds what it held before.
 */
export async function backUpRepository(backup: RepositoryBackup): Promise<RepositoryOutcome> {
  const { git, archiveFolder, source, onStep } = backup;
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
    const figures = await measureClone(git, gitDir, refs);
    await onStep('writing the archive');
    await createBundle(git, { gitDir, bundle, refs, headBranch });
    const { sha256, blob, sizeBytes, modifiedMs } = await sealBundle(bundle);
    const record: ArchiveRecord = {
      version: 2,
      archive_sha256: sha256,
      archive_size_bytes: sizeBytes,
      archive_modified_ms: modifiedMs,
      head_branch: headBranch,
      host: source.host?.url ?? null,
      archive_blob: blob,
      figures,
    };
    await publishArchive(bundle, archiveFolder, key, record);
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

function credentialOf({ host, location }: Source): Promise<GitCredential | null> {
  return readCredential(location, async () => host?.token() ?? null);
}

/**
 * The archive's note when it need not be made anew. The archive is kept only when its note is that of
 * the recorded one, it was not written to since, and its header has these refs, and HEAD's branch. Its
 * objects are not read again.
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

/** An archive that cannot be read is made anew. */
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
  // Over git's own protocol also from a folder: only reachable objects, each of them checked.
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

/** Null where HEAD names a commit, or a branch that has none. */
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

interface Clone {
  gitDir: string;
  bundle: string;
  refs: Refs;
  headBranch: string | null;
}

async function createBundle(git: Git, { gitDir, bundle, refs, headBranch }: Clone): Promise<void> {
  // A bundle does not say which branch HEAD names: `git clone` takes the last one at HEAD's commit.
  const revisions =
    headBranch === null ? ['--all'] : [`--exclude=${headBranch}`, '--all', headBranch];
  const args = [`--git-dir=${gitDir}`, 'bundle', 'create', '--quiet', bundle, ...revisions];
  await git.read(args, { timeoutMs: CLONE_TIMEOUT_MS });
  if (!sameRefs(await readBundleRefs(git, bundle), refs)) {
    throw new GitError('the archive that git wrote does not hold all refs of the clone');
  }
}
