import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { ArchiveFault, corrupt, incomplete } from './base/archive-fault.ts';
import { isRejection, type Workspace } from './base/git-workspace.ts';
import type { ArchiveLimits } from './base/limits.ts';
import type { OpenArchive } from './base/open-archive.ts';
import { type Chain, readChain } from './chain/read-chain.ts';
import { type FileContent, NoSuchFile, notAFile, tooLarge } from './contents/file-content.ts';
import {
  type ListRequest,
  listTree,
  parseEntry,
  type Tree,
  type TreeListing,
} from './contents/list-tree.ts';
import { findNearPaths } from './contents/near-paths.ts';
import { type BorrowedRepository, identifyArchive, type KeptUnpacked } from './kept-unpacked.ts';
import { makeRepository, unpackBundle, whyNotUnpacked } from './unpack-bundle.ts';
import type { BundleChecks } from './verify-bundle.ts';

/** How many paths are searched for those that resemble a missing one. */
const MAX_PATHS_SEARCHED = 200_000;

/** What is needed to read a tree. */
type TreeChecks = BundleChecks & { kept: KeptUnpacked };

/** The first files under a prefix, and whether there are more. */
export function listBundle(
  archive: OpenArchive,
  request: ListRequest,
  checks: TreeChecks & { clock: Clock },
): Promise<TreeListing> {
  return withTree(archive, checks, (tree) => listTree(tree, request, checks));
}

/** Reads a file of the default branch. Throws NOT_FOUND, BAD_REQUEST if it is not a file, PAYLOAD_TOO_LARGE. */
export function extractFromBundle(
  archive: OpenArchive,
  path: string,
  checks: TreeChecks,
): Promise<FileContent> {
  return withTree(archive, checks, async ({ git, gitDir, commit }) => {
    const max = checks.limits.extractedBytes;
    const name = path.replace(/\/$/, '');
    const options = [`--git-dir=${gitDir}`, '--literal-pathspecs'];
    const args = [...options, 'ls-tree', '-z', '-l', '--full-tree', '--', commit, name];
    const lines = (await git.read(args)).split('\0').filter((line) => line !== '');
    const found = lines.map(parseEntry).find(({ entry }) => entry.path === name);
    if (found === undefined)
      throw new NoSuchFile(path, await listNear({ git, gitDir, commit }, name));
    const { entry, id } = found;
    if (entry.type !== 'file') throw notAFile(path, entry.type);
    if (entry.size > max) throw tooLarge(path, entry.size, max);
    const blob = await git.readBytes([`--git-dir=${gitDir}`, 'cat-file', 'blob', id]);
    return { path, bytes: Buffer.from(blob) };
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
  { workspaces, kept, limits, signal }: TreeChecks,
  work: (tree: Tree) => Promise<Result>,
): Promise<Result> {
  const id = await identifyArchive(archive);
  const chain = await readChain(archive);
  const commit = findDefaultBranch(chain);
  throwIfUnreadable(chain, limits);
  const borrowed = kept.borrow(id);
  let repository: BorrowedRepository | null = borrowed;
  const sizeBytes = repository === null ? chain.sizeBytes : 0;
  try {
    return await workspaces.use({ signal, sizeBytes }, async (workspace) => {
      try {
        repository ??= await kept.keep(id, await unpack(workspace, chain), chain.sizeBytes);
        return await work({ git: workspace.git, gitDir: repository.gitDir, commit });
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
  return withTree(archive, { workspaces, kept, limits, signal }, work);
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

/** HEAD, else main, else master, else the first branch. */
function findDefaultBranch({ refs }: Chain): string {
  const find = (searched: string) => refs.find(({ name }) => name === searched);
  const ref =
    find('HEAD') ??
    find('refs/heads/main') ??
    find('refs/heads/master') ??
    refs.find(({ name }) => name.startsWith('refs/heads/'));
  if (ref) return ref.id;
  throw new AppError('NOT_FOUND', 'the bundle has neither HEAD nor a branch');
}
