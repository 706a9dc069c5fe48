import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { ArchiveFault, corrupt, incomplete } from './base/archive-fault.ts';
import { isRejection, type Workspace } from './base/git-workspace.ts';
import type { ArchiveLimits } from './base/limits.ts';
import type { OpenArchive } from './base/open-archive.ts';
import { findTip, type TipChoice } from './chain/find-tip.ts';
import { type Chain, readChain } from './chain/read-chain.ts';
import { type FileContent, NoSuchFile, notAFile, tooLarge } from './contents/file-content.ts';
import {
  findInTree,
  type ListRequest,
  listTree,
  type Objects,
  type Tree,
  type TreeListing,
} from './contents/list-tree.ts';
import { findNearPaths } from './contents/near-paths.ts';
import { notAFolder, zipTree } from './contents/zip-tree.ts';
import { type BorrowedRepository, identifyArchive, type KeptUnpacked } from './kept-unpacked.ts';
import { makeRepository, unpackBundle, whyNotUnpacked } from './unpack-bundle.ts';
import type { BundleChecks } from './verify-bundle.ts';

/** How many paths are searched for those that resemble a missing one. */
const MAX_PATHS_SEARCHED = 200_000;

/** What is needed to read the objects of an archive. */
export type TreeChecks = BundleChecks & { kept: KeptUnpacked };

/** A folder to send as a zip: its path; all files if it is empty. */
export interface ZipRequest extends TipChoice {
  path: string;
}

/** The first files under a prefix, and whether there are more. */
export function listBundle(
  archive: OpenArchive,
  request: ListRequest & TipChoice,
  checks: TreeChecks & { clock: Clock },
): Promise<TreeListing> {
  return withTree(archive, request, checks, (tree) => listTree(tree, request, checks));
}

/** Reads a file. Throws NOT_FOUND, BAD_REQUEST if it is not a file, PAYLOAD_TOO_LARGE. */
export function extractFromBundle(
  archive: OpenArchive,
  path: string,
  tip: TipChoice,
  checks: TreeChecks,
): Promise<FileContent> {
  return withTree(archive, tip, checks, async (tree) => {
    const { git, gitDir } = tree;
    const max = checks.limits.extractedBytes;
    const name = path.replace(/\/$/, '');
    const found = await findInTree(tree, name);
    if (found === null) throw new NoSuchFile(path, await listNear(tree, name));
    const { entry, id } = found;
    if (entry.type !== 'file') throw notAFile(path, entry.type);
    if (entry.size > max) throw tooLarge(path, entry.size, max);
    const blob = await git.readBytes([`--git-dir=${gitDir}`, 'cat-file', 'blob', id]);
    return { path, bytes: Buffer.from(blob) };
  });
}

/**
 * Writes a folder as a zip; an empty `path` means all files. `ready` is called before anything is written. Throws
 * NOT_FOUND, BAD_REQUEST if it is not a folder, and PAYLOAD_TOO_LARGE before, and anything while it is written.
 */
export function zipBundle(
  archive: OpenArchive,
  request: ZipRequest,
  checks: TreeChecks & { clock: Clock },
  ready: (name: string) => Promise<NodeJS.WritableStream>,
): Promise<void> {
  return withTree(archive, request, checks, async (tree) => {
    const { path } = request;
    const name = path.replace(/\/$/, '');
    if (name !== '') {
      const found = await findInTree(tree, name);
      if (found === null) throw new NoSuchFile(path, await listNear(tree, name));
      if (found.entry.type !== 'directory') throw notAFolder(path);
    }
    await zipTree(tree, name, checks, ready);
  });
}

async function listNear({ git, gitDir, commit }: Tree, name: string): Promise<string[]> {
  const near = findNearPaths(name);
  let left = MAX_PATHS_SEARCHED;
  const args = [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-z', '--name-only', '--full-tree', commit];
  for await (const path of git.stream(args, '\0')) {
    if (left-- === 0) break;
    near.add(path);
  }
  return near.found();
}

async function withTree<Result>(
  archive: OpenArchive,
  tip: TipChoice,
  checks: TreeChecks,
  work: (tree: Tree) => Promise<Result>,
): Promise<Result> {
  const chain = await readChain(archive);
  const commit = await findTip(archive, chain, tip);
  return withObjects(archive, chain, checks, (objects) => work({ ...objects, commit }));
}

/** Unpacks an archive, unless it is kept unpacked, for `work` with the objects of all its versions. */
export async function withObjects<Result>(
  archive: OpenArchive,
  chain: Chain,
  { workspaces, kept, limits, signal }: TreeChecks,
  work: (objects: Objects) => Promise<Result>,
): Promise<Result> {
  const id = await identifyArchive(archive);
  throwIfUnreadable(chain, limits);
  const borrowed = kept.borrow(id);
  let repository: BorrowedRepository | null = borrowed;
  const sizeBytes = repository === null ? chain.sizeBytes : 0;
  try {
    return await workspaces.use({ signal, sizeBytes }, async (workspace) => {
      try {
        repository ??= await kept.keep(id, await unpack(workspace, chain), chain.sizeBytes);
        return await work({ git: workspace.git, gitDir: repository.gitDir });
      } catch (error) {
        if (isRejection(error)) throw corrupt(`git could not read the bundle: ${error.message}`);
        throw error;
      }
    });
  } catch (error) {
    if (borrowed === null || !(error instanceof ArchiveFault)) throw error;
    // Somebody may have deleted what was kept, which says nothing about the archive.
    kept.forget(id);
  } finally {
    repository?.giveBack();
  }
  return withObjects(archive, chain, { workspaces, kept, limits, signal }, work);
}

async function unpack(workspace: Workspace, chain: Chain): Promise<string> {
  const gitDir = await makeRepository(workspace, chain);
  for (const file of [chain.base, ...chain.increments]) {
    await unpackBundle(workspace, gitDir, file, { links: false });
  }
  return gitDir;
}

function throwIfUnreadable(chain: Chain, limits: ArchiveLimits): void {
  const why = whyNotUnpacked(chain, limits);
  if (why !== null) {
    throw new AppError('PAYLOAD_TOO_LARGE', `the bundle is not unpacked because ${why}`);
  }
  if (chain.base.header.prerequisites.length > 0) {
    throw incomplete('the bundle is incremental and cannot be read without an earlier one');
  }
}
