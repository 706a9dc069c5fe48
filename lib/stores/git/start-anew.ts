import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { GitAddress } from '../../config/stores/store-address.ts';
import { createGit, type Git } from '../../git/git.ts';
import { initRepository } from '../../git/init-repository.ts';
import type { GitStore } from './git-store.ts';
import type { GitStoreAccess } from './git-store-options.ts';
import { indexObjects, isRootArchive, parsePart } from './parts.ts';
import { requirePushed } from './push-changes.ts';
import { committer, type RepositoryClone } from './repository-clone.ts';
import { writeTree } from './tree.ts';

const PUSH_TIMEOUT_MS = 30 * 60_000;
/** Garbage collection in a local repository reads everything left in it. */
const GC_TIMEOUT_MS = 60 * 60_000;

interface StartAnewOptions {
  repository: GitStore;
  address: GitAddress;
  access: GitStoreAccess;
  /** The sizes of objects without which nothing is dropped, by key. */
  needed: ReadonlyMap<string, number>;
  /** Keys of objects that may be dropped. Everything else is kept. */
  dropped: ReadonlySet<string>;
  /** For temporary files; exists. */
  folder: string;
  signal: AbortSignal;
}

/**
 * The size of a repository in bytes, including its history: for a local one the size of its packs, for others an
 * estimate from names. Archives at the root, left from before a migration, do not have their size in their name: each
 * counts like the largest one of the same name whose size is known.
 */
export async function measureRepository({
  repository,
  address,
  access,
  signal,
}: Omit<StartAnewOptions, 'needed' | 'dropped' | 'folder'>): Promise<number> {
  const { clone } = await repository.inspect();
  if (address.isLocal) {
    const git = createGit(access.environment, signal);
    const lines = await git.read(['-C', address.location, 'count-objects', '-v']);
    const sizes = [...lines.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, size]) => Number(size));
    return sizes.reduce((sum, size) => sum + size * 1024, 0);
  }
  const tip = clone.tip();
  if (tip === null) return 0;
  // Not `rev-list --objects`, which omits what is not here.
  const known = new Map<string, number>();
  const log = ['log', '-m', '--raw', '--no-abbrev', '--no-renames', '--diff-filter=AM', '-z'];
  let id = '';
  const roots = new Map<string, Set<string>>();
  const paths = ['archives', ':(glob)*.bundle', ':(glob)*.tar.gz'];
  for await (const record of clone.stream([...log, '--format=', tip, '--', ...paths], '\0')) {
    const [, blob] = /^:\d+ \d+ \S+ (\S+) \S+$/.exec(record.trim()) ?? [];
    const part = blob === undefined ? parsePart(record) : null;
    if (blob !== undefined) id = blob;
    else if (part !== null) known.set(id, part.bytes);
    else if (isRootArchive(record)) roots.set(record, (roots.get(record) ?? new Set()).add(id));
  }
  const inParts = [...known.values()].reduce((sum, bytes) => sum + bytes, 0);
  return inParts + sizeOfRoots(roots, known);
}

function sizeOfRoots(
  roots: ReadonlyMap<string, ReadonlySet<string>>,
  known: ReadonlyMap<string, number>,
): number {
  let total = 0;
  for (const ids of roots.values()) {
    const sizes = [...ids].flatMap((id) => known.get(id) ?? []);
    const largest = sizes.reduce((one, other) => Math.max(one, other), 0);
    total += (ids.size - sizes.length) * largest;
  }
  return total;
}

/**
 * Replaces a repository's history with one commit, which contains all files except those of dropped objects. Returns
 * null if that was done, else the reason it was not: somebody else changed something there, it is incomplete, or there
 * is nothing to drop. Throws StoreFault, and GitError if cleaning up failed.
 */
export async function startAnew(options: StartAnewOptions): Promise<string | null> {
  const { repository, address, access, signal } = options;
  const git = createGit({ ...access.environment, ...committer }, signal);
  const { clone, files } = await repository.inspect();
  const tip = clone.tip();
  if (tip === null) return 'it is empty';
  const incomplete = findIncomplete(files, options.needed);
  if (incomplete !== null) return incomplete;
  const foreignWork = await findForeignWork(clone, tip);
  if (foreignWork !== null) return foreignWork;
  const removed = [...files.keys()].filter((path) => {
    const key = parsePart(path)?.key;
    return key !== undefined && options.dropped.has(key) && !options.needed.has(key);
  });
  const commits = await clone.local(['rev-list', '--max-count=2', tip]);
  if (removed.length === 0 && commits.trim().split('\n').length === 1)
    return 'everything is needed';
  await repository.change(async () => {
    const changes = new Map(removed.map((path) => [path, null]));
    const tree = await writeTree(clone, tip, changes);
    const root = (await clone.local(['commit-tree', tree, '-m', 'Start anew'])).trim();
    await pushRoot(options, git, clone, { tip, root });
    await requirePushed(clone, root);
  });
  if (address.isLocal) {
    const expire = ['gc.reflogExpire=now', 'gc.reflogExpireUnreachable=now'];
    const settings = expire.flatMap((setting) => ['-c', setting]);
    const args = ['-C', address.location, ...settings, 'gc', '--quiet', '--prune=now'];
    await git.read(args, { timeoutMs: GC_TIMEOUT_MS });
  }
  return null;
}

/** What is missing, as it may still be in the history; null if nothing is. */
function findIncomplete(
  files: ReadonlyMap<string, string>,
  needed: ReadonlyMap<string, number>,
): string | null {
  const objects = indexObjects(files);
  for (const [key, bytes] of needed) {
    const found = objects.get(key);
    if (found === null) return `${key} is missing`;
    if (found.sizeBytes !== bytes) return `${key} has another size than was stored`;
  }
  return null;
}

/**
 * Why dropping the history would lose somebody else's work; null if it would not. A host starts a repository with a
 * README, in a commit that is not ours: its files must still be there unchanged.
 */
async function findForeignWork(clone: RepositoryClone, tip: string): Promise<string | null> {
  const commits = clone.stream(['log', '--format=%ce %H %P', tip], '\n');
  for await (const line of commits) {
    const [email, id = '', parent = ''] = line.split(' ');
    if (line === '' || email === committer.GIT_COMMITTER_EMAIL) continue;
    if (parent !== '') return 'it has commits by others';
    const differ = ['diff-tree', '-r', '--no-renames', '--name-only', '--diff-filter=MDT', '-z'];
    if ((await clone.local([...differ, id, tip])) !== '') return 'it had files by others';
  }
  return null;
}

/**
 * Pushes a commit without parents. That does not work from a clone without files: git would send files that it does not
 * have. From a clone that ends at the tip, git assumes that the other side has all of them.
 */
async function pushRoot(
  { address, access, folder }: StartAnewOptions,
  git: Git,
  clone: RepositoryClone,
  { tip, root }: { tip: string; root: string },
): Promise<void> {
  const gitDir = join(folder, `anew-${root}.git`);
  try {
    await initRepository(git, gitDir, { objectFormat: 'sha1', isBare: true });
    const alternates = join(gitDir, 'objects', 'info', 'alternates');
    await mkdir(dirname(alternates), { recursive: true });
    await writeFile(alternates, `${join(clone.gitDir, 'objects')}\n`);
    await writeFile(join(gitDir, 'shallow'), `${tip}\n`);
    const plain = ['--quiet', '--thin', '--no-verify', '--no-signed', '--no-follow-tags'];
    const lease = `--force-with-lease=${clone.branch}:${tip}`;
    const push = ['push', ...plain, '--recurse-submodules=no', lease, '--', address.location];
    await git.read([`--git-dir=${gitDir}`, ...push, `${root}:${clone.branch}`], {
      protocols: address.protocols,
      timeoutMs: PUSH_TIMEOUT_MS,
      credential: await access.credential(address),
    });
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}
