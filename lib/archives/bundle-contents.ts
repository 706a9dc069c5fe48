import { AppError } from '../platform/errors.ts';
import type { ArchiveEntry, EntryType } from './answers.ts';
import { type BundleHeader, readBundleHeader } from './bundle-header.ts';
import { corrupt, incomplete } from './fault.ts';
import { type FileContent, notAFile, notFound, tooLarge } from './file-content.ts';
import { isRefusal, type Workspace } from './git-workspace.ts';
import type { OpenArchive } from './open-archive.ts';
import { type Bundle, makeRepository, unpackBundle, whyNotUnpacked } from './unpack-bundle.ts';
import type { BundleChecks } from './verify-bundle.ts';

/** An unpacked bundle at its default branch. */
interface Tree {
  workspace: Workspace;
  gitDir: string;
  commit: string;
}

/** The first `limit` files under a prefix, and whether there are more (spec 3, Tool behaviour 7). */
export function listBundle(
  archive: OpenArchive,
  { prefix, limit }: { prefix: string; limit: number },
  checks: BundleChecks,
): Promise<{ entries: ArchiveEntry[]; truncated: boolean }> {
  return withTree(archive, checks, async ({ workspace, gitDir, commit }) => {
    const entries: ArchiveEntry[] = [];
    let characters = 0;
    const args = [`--git-dir=${gitDir}`, 'ls-tree', '-r', '-z', '-l', '--full-tree', '--', commit];
    for await (const line of workspace.git.stream(args, '\0')) {
      const { entry } = parseEntry(line);
      if (!entry.path.startsWith(prefix)) continue;
      characters += entry.path.length;
      // git sets no bound on a name: a few hundred of them can have a hundred megabytes.
      const isFull = entries.length === limit || characters > checks.limits.listedCharacters;
      if (isFull) return { entries, truncated: true };
      entries.push(entry);
    }
    return { entries, truncated: false };
  });
}

/** One file of the default branch. Throws NOT_FOUND, BAD_REQUEST for what is no file, PAYLOAD_TOO_LARGE. */
export function extractFromBundle(
  archive: OpenArchive,
  path: string,
  checks: BundleChecks,
): Promise<FileContent> {
  return withTree(archive, checks, async ({ workspace, gitDir, commit }) => {
    const { git } = workspace;
    const most = checks.limits.extractedBytes;
    const name = path.replace(/\/$/, '');
    const options = [`--git-dir=${gitDir}`, '--literal-pathspecs'];
    const args = [...options, 'ls-tree', '-z', '-l', '--full-tree', '--', commit, name];
    const lines = (await git.read(args)).split('\0').filter((line) => line !== '');
    const found = lines.map(parseEntry).find(({ entry }) => entry.path === name);
    if (found === undefined) throw notFound(path);
    const { entry, id } = found;
    if (entry.type !== 'file') throw notAFile(path, entry.type);
    if (entry.size > most) throw tooLarge(path, entry.size, most);
    const blob = await git.readBytes([`--git-dir=${gitDir}`, 'cat-file', 'blob', id]);
    return { path, bytes: Buffer.from(blob) };
  });
}

async function withTree<Result>(
  archive: OpenArchive,
  { workspaces, limits, signal }: BundleChecks,
  work: (tree: Tree) => Promise<Result>,
): Promise<Result> {
  const bundle = { archive, limits, header: await readBundleHeader(archive.handle) };
  const commit = findDefaultBranch(bundle.header);
  refuse(bundle);
  return workspaces.use(signal, async (workspace) => {
    const gitDir = await makeRepository(workspace, bundle);
    try {
      await unpackBundle(workspace, gitDir, bundle, { links: false });
      return await work({ workspace, gitDir, commit });
    } catch (error) {
      if (isRefusal(error)) throw corrupt(`git could not read the bundle: ${error.message}`);
      throw error;
    }
  });
}

function refuse(bundle: Bundle): void {
  const why = whyNotUnpacked(bundle);
  if (why !== null) {
    throw new AppError('PAYLOAD_TOO_LARGE', `the bundle is not unpacked because ${why}`);
  }
  if (bundle.header.prerequisites.length > 0) {
    throw incomplete('the bundle is incremental and cannot be read without an earlier one');
  }
}

/** HEAD, else main, else master, else the first branch (spec 3, Tool behaviour 7). */
function findDefaultBranch({ refs }: BundleHeader): string {
  const find = (wanted: string) => refs.find(({ name }) => name === wanted);
  const ref =
    find('HEAD') ??
    find('refs/heads/main') ??
    find('refs/heads/master') ??
    refs.find(({ name }) => name.startsWith('refs/heads/'));
  if (ref) return ref.id;
  throw new AppError('NOT_FOUND', 'the bundle has neither HEAD nor a branch');
}

/** A line of `ls-tree -z -l`. Throws INCOMPLETE_HISTORY where the bundle lacks what it names. */
function parseEntry(line: string): { entry: ArchiveEntry; id: string } {
  const tab = line.indexOf('\t');
  const [mode = '', kind = '', id = '', size = ''] = line.slice(0, tab).split(/ +/);
  // Else it would be listed as an empty file.
  if (size === 'BAD') throw incomplete(`the bundle needs the object ${id} and does not hold it`);
  return {
    id,
    entry: {
      path: line.slice(tab + 1),
      size: Number.parseInt(size, 10) || 0,
      mode,
      type: typeOf(mode, kind),
    },
  };
}

function typeOf(mode: string, kind: string): EntryType {
  if (kind === 'tree') return 'directory';
  if (kind === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}
