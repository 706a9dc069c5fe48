import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { corrupt } from '../archives/base/archive-fault.ts';
import type { FindRecord } from '../archives/base/archive-owner.ts';
import { createWorkspaces, isRejection, type Workspace } from '../archives/base/git-workspace.ts';
import { type OpenArchive, openArchive } from '../archives/base/open-archive.ts';
import { chooseVersion, type VersionChoice } from '../archives/chain/choose-version.ts';
import { hashWhile } from '../archives/chain/hash-while.ts';
import { proveHistory } from '../archives/chain/prove-history.ts';
import { type Chain, type ChainFile, named, readChain } from '../archives/chain/read-chain.ts';
import { readManifest } from '../archives/chain/read-manifests.ts';
import {
  onlyRef,
  refsOfBundle,
  refsOfManifest,
  type VersionRefs,
} from '../archives/chain/version-refs.ts';
import { describeRejection, unpackBundle } from '../archives/unpack-bundle.ts';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config/read.ts';
import { findLacks } from '../durable-files.ts';
import { AppError } from '../errors.ts';
import { isSystemError } from '../files.ts';
import { initRepository } from '../git/init-repository.ts';
import { checkOut, type Unwritten } from './check-out.ts';
import { requireRoom } from './measure-work-tree.ts';
import { inParent, moveTo } from './target.ts';
import { readHeadCommit, writeRefs } from './write-refs.ts';

/** What to restore, and where to. */
interface RestoreRequest {
  /** The archive folder. */
  root: string;
  /** `owner/name`. */
  repository: string;
  /** What the database, or the state in a store, says about whose the archive is. */
  findRecord?: FindRecord;
  choice: VersionChoice;
  /** Only this branch, tag or other ref; null for all. */
  ref: string | null;
  /** Without a work tree. */
  isBare: boolean;
  /** Whether a work tree that is too large for most machines is refused, which may be an attack. */
  isLimited: boolean;
  /** The absolute path of the new repository, which must not exist or be an empty folder. */
  target: string;
}

/** The environment of a restore. */
export interface RestoreContext {
  /** Only PATH is used, to find git. */
  environment: Environment;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the number of files unpacked so far. */
  onFile?(done: number, total: number): void;
  /** Called when another step than unpacking begins. */
  onStep?(step: 'proving' | 'writing'): void;
}

/** A restored and proven version. */
export interface Restored {
  repository: string;
  archive: string;
  /** Null for an archive from an earlier release. */
  version: number | null;
  /** When the version, or the archive from an earlier release, was made. ISO 8601 in UTC. */
  at: string;
  /** The names of all refs except HEAD. */
  refs: string[];
  /** The branch of HEAD; null if it is detached. */
  headBranch: string | null;
  /** The commit of HEAD; null if there is none. */
  headCommit: string | null;
  /** Files that this file system cannot hold; null if all are there, or the repository has no work tree. */
  unwritten: Unwritten | null;
  /** The number of files that were needed from the archive. */
  files: number;
  sizeBytes: number;
  /** Whether the SHA-256 of each file was recorded. */
  isRecorded: boolean;
  /** Those files with the SHA-256 that each was found to have; null if it was not recorded for each. */
  archiveFiles: { name: string; sha256: string }[] | null;
  /** What was recorded about the version; null for an archive from an earlier release. */
  manifest: RestoredManifest | null;
}

/** The contents of a restored version's manifest. */
interface RestoredManifest {
  sha256: string;
  /** Object ids by the names of all refs, including HEAD if it has a commit. */
  refs: ReadonlyMap<string, string>;
}

/** Enough for a slow disk: an hour, plus two hours per 1.5 GB. */
const limits = { gitTimeoutMs: 60 * 60_000, gitBytesPerMs: 200 };

/**
 * Restores a version of a repository from its archive alone, and proves it: the SHA-256 of the manifest and of every
 * file, every object, that nothing is missing, and that the refs are those that were recorded. The target appears
 * complete or not at all. Throws AppError; ArchiveFault, which names the file, if the archive is damaged.
 */
export async function restoreVersion(
  request: RestoreRequest,
  context: RestoreContext,
): Promise<Restored> {
  const { root, repository, target } = request;
  const archive = await openArchive(root, repository, null, request.findRecord);
  try {
    if (archive.format !== 'bundle') {
      throw new AppError(
        'CONFLICT',
        `${archive.name} is not a git bundle: unpack it with \`tar -xzf\``,
      );
    }
    return await named(archive.name, () => inParent(target, () => restore(archive)));
  } catch (error) {
    // A file system error, such as a full disk.
    if (!isSystemError(error)) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', `${target} cannot be written`, { cause: error });
  } finally {
    await archive.close();
  }

  async function restore(archive: OpenArchive): Promise<Restored> {
    const { environment, clock, signal } = context;
    const entry = chooseVersion(archive, request.choice);
    const manifest = entry && (await readManifest(archive, entry));
    const chain = await readNeeded(archive, entry?.files ?? 1);
    const all = manifest ? refsOfManifest(manifest) : refsOfBundle(chain);
    const wanted = request.ref === null ? all : onlyRef(all, request.ref);
    const lacks = await findLacks(dirname(target));
    const workspaces = createWorkspaces({
      scratchFolder: dirname(target),
      scratchName: 'the folder of the restored repository',
      environment,
      clock,
      limits,
      isDurable: !lacks.includes('fsync'),
    });
    return workspaces.use({ signal, sizeBytes: chain.sizeBytes }, async (workspace) => {
      const made = await makeRepository(workspace, chain, request.isBare);
      await unpackChain(workspace, made.gitDir, chain, context);
      context.onStep?.('proving');
      await proveHistory(workspace, made.gitDir, {
        tips: [...all.refs.values(), ...('id' in all.head ? [all.head.id] : [])],
        proven: chain.base.header.refs.map(({ id }) => id),
      });
      context.onStep?.('writing');
      const { commit: headCommit, unwritten } = await fill(
        workspace,
        made,
        wanted,
        request.isLimited,
      );
      signal.throwIfAborted();
      await moveTo(made.folder, target);
      return {
        repository,
        archive: archive.name,
        version: entry?.version ?? null,
        at: entry?.at ?? new Date(archive.modifiedAt).toISOString(),
        refs: [...wanted.refs.keys()],
        headBranch: 'branch' in wanted.head ? wanted.head.branch : null,
        headCommit,
        unwritten,
        files: 1 + chain.increments.length,
        sizeBytes: chain.sizeBytes,
        isRecorded: chain.base.sha256 !== null,
        archiveFiles: listFiles(chain),
        manifest:
          entry && manifest
            ? { sha256: entry.manifest_sha256, refs: new Map(Object.entries(manifest.refs)) }
            : null,
      };
    });
  }
}

/** The bundles that a version needs. */
function readNeeded(archive: OpenArchive, files: number): Promise<Chain> {
  const listed = 1 + archive.increments.length;
  if (files > listed) throw corrupt(`its note lists ${listed} of the ${files} files it needs`);
  return readChain(archive, files);
}

function listFiles({ base, increments }: Chain): Restored['archiveFiles'] {
  const files = [];
  for (const { name, sha256 } of [base, ...increments]) {
    if (sha256 === null) return null;
    files.push({ name, sha256 });
  }
  return files;
}

interface NewRepository {
  folder: string;
  gitDir: string;
  isBare: boolean;
}

async function makeRepository(
  { git, folder: scratch }: Workspace,
  { base }: Chain,
  isBare: boolean,
): Promise<NewRepository> {
  const folder = join(scratch, 'repository');
  await initRepository(git, folder, { objectFormat: base.header.objectFormat, isBare });
  return { folder, gitDir: isBare ? folder : join(folder, '.git'), isBare };
}

/** How many files are unpacked concurrently. Each pack is self-contained, so the order does not matter. */
const AT_ONCE = Math.min(4, availableParallelism());

/** Checks and unpacks each file once. Throws the first fault in file order. */
async function unpackChain(
  workspace: Workspace,
  gitDir: string,
  { base, increments }: Chain,
  { signal, onFile }: RestoreContext,
): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const total = 1 + increments.length;
  let done = 0;
  let isFailed = false;
  const unpack = async (file: ChainFile) => {
    if (isFailed) return;
    try {
      await hashWhile(file, signal, () => unpackFile(file));
      onFile?.(++done, total);
    } catch (error) {
      isFailed = true;
      throw error;
    }
  };
  onFile?.(done, total);
  const results = await Promise.allSettled([
    limit(() => unpack(base)),
    ...increments.map((file) => limit(() => named(file.name, () => unpack(file)))),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;

  async function unpackFile(file: ChainFile): Promise<void> {
    try {
      await unpackBundle(workspace, gitDir, file, { links: file === base });
    } catch (error) {
      throw isRejection(error) ? describeRejection(error.message) : error;
    }
  }
}

/** Sets the refs and checks out the work tree. */
async function fill(
  { git }: Workspace,
  { folder, gitDir, isBare }: NewRepository,
  wanted: VersionRefs,
  isLimited: boolean,
): Promise<{ commit: string | null; unwritten: Unwritten | null }> {
  await writeRefs(git, gitDir, wanted);
  const commit = await readHeadCommit(git, gitDir);
  if (isBare || commit === null) return { commit, unwritten: null };
  if (isLimited) await requireRoom(git, { folder, gitDir }, commit);
  return { commit, unwritten: await checkOut(git, { folder, gitDir }, commit) };
}
