import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type Git, GitError } from '../../git/git.ts';
import { incomplete } from '../base/archive-fault.ts';
import type { ArchiveLimits } from '../base/limits.ts';
import type { ArchiveEntry, EntryType } from '../base/results.ts';

/** The objects of an archive, in a repository without refs. */
export interface Objects {
  git: Git;
  gitDir: string;
}

/** A commit, or a tag of one, whose files are read. */
export interface Tree extends Objects {
  commit: string;
}

export interface TreeListing {
  entries: ArchiveEntry[];
  /** Whether there are, or may be, more entries under the prefix. */
  truncated: boolean;
}

/** What to list. */
export interface ListRequest {
  /** Only paths that start with this text. */
  prefix: string;
  /** How many of these to skip. Default: 0. */
  offset?: number;
  limit: number;
  /** Only what is in the folder `prefix` itself, with its subfolders. Default: all files below. */
  isFlat?: boolean | undefined;
}

/**
 * Lists the first files of a tree whose path starts with `prefix`, up to the limit and the size of a
 * response. A few bytes can encode a tree of a billion files, so git lists only what is under the prefix, and
 * is stopped as soon as there is enough or its time is up.
 */
export async function listTree(
  tree: Tree,
  { prefix, offset = 0, limit, isFlat = false }: ListRequest,
  { limits, clock }: { limits: ArchiveLimits; clock: Clock },
): Promise<TreeListing> {
  const entries: ArchiveEntry[] = [];
  let characters = 0;
  let toSkip = offset;
  try {
    const deadline = clock.now() + limits.listTimeoutMs;
    for await (const entry of walk(tree, prefix, { deadline, clock, isFlat })) {
      if (toSkip-- > 0) continue;
      characters += JSON.stringify(entry).length + 1;
      const isFull = entries.length === limit || characters > limits.listedCharacters;
      if (isFull) return { entries, truncated: true };
      entries.push(entry);
    }
    return { entries, truncated: false };
  } catch (error) {
    if (!(error instanceof GitError) || !isOutOfBounds(error)) throw error;
    if (entries.length > 0) return { entries, truncated: true };
    const seconds = limits.listTimeoutMs / 1_000;
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `the files cannot be listed in ${seconds} s: there are too many folders, or they are too deep; use the path of a folder as the prefix`,
      { cause: error },
    );
  }
}

/** Whether a limit of git or of ours was exceeded. In a tree of 100,000 levels git reports it or crashes. */
export function isOutOfBounds({ fault, message }: GitError): boolean {
  return fault !== 'missing' && (fault !== 'failed' || /maximum allowed tree depth/.test(message));
}

/** Every file under a prefix, in the order of the tree. */
async function* walk(
  { git, gitDir, commit }: Tree,
  prefix: string,
  { deadline, clock, isFlat }: { deadline: number; clock: Clock; isFlat: boolean },
): AsyncGenerator<ArchiveEntry> {
  const list = async function* (recursive: boolean, ...what: string[]) {
    const options = ['-z', '-l', '--full-tree', ...(recursive ? ['-r'] : [])];
    const args = [`--git-dir=${gitDir}`, '--literal-pathspecs', 'ls-tree', ...options, '--'];
    const timeoutMs = Math.max(1, deadline - clock.now());
    for await (const line of git.stream([...args, ...what], '\0', { timeoutMs })) {
      yield parseEntry(line);
    }
  };
  const folder = folderOf(prefix);
  const within = folder === '' ? [] : [folder];
  if (isFlat) {
    if (prefix !== folder) throw new AppError('NOT_FOUND', 'the archive has no such folder');
    for await (const { entry } of list(false, commit, ...within)) yield entry;
    return;
  }
  if (prefix === folder) {
    for await (const { entry } of list(true, commit, ...within)) {
      if (entry.path.startsWith(prefix)) yield entry;
    }
    return;
  }
  // The prefix may end within the name of a folder.
  for await (const { entry, id } of list(false, commit, ...within)) {
    const { path } = entry;
    if (entry.type !== 'directory') {
      if (path.startsWith(prefix)) yield entry;
    } else if (path.startsWith(prefix) || prefix.startsWith(`${path}/`)) {
      for await (const { entry: below } of list(true, id)) {
        const whole = `${path}/${below.path}`;
        if (whole.startsWith(prefix)) yield { ...below, path: whole };
      }
    }
  }
}

/** Finds a file or folder by its path; null if there is none. Throws GitError. */
export async function findInTree(
  { git, gitDir, commit }: Tree,
  path: string,
): Promise<{ entry: ArchiveEntry; id: string } | null> {
  const options = [`--git-dir=${gitDir}`, '--literal-pathspecs'];
  const args = [...options, 'ls-tree', '-z', '-l', '--full-tree', '--', commit, path];
  const lines = (await git.read(args)).split('\0').filter((line) => line !== '');
  return lines.map(parseEntry).find(({ entry }) => entry.path === path) ?? null;
}

/**
 * The deepest folder that contains everything with a prefix, with a trailing slash; empty for the root. Stops
 * at a part that git would not interpret literally: a malicious tree can contain such names.
 */
function folderOf(prefix: string): string {
  const parts = prefix.split('/').slice(0, -1);
  const odd = parts.findIndex((part) => /^\.{0,2}$|[\0\ufffd]/.test(part));
  const folder = (odd === -1 ? parts : parts.slice(0, odd)).join('/');
  return folder === '' ? '' : `${folder}/`;
}

/** Parses a line of `ls-tree -z -l`. Throws INCOMPLETE_HISTORY if the bundle lacks the object. */
export function parseEntry(line: string): { entry: ArchiveEntry; id: string } {
  const tab = line.indexOf('\t');
  const [mode = '', kind = '', id = '', size = ''] = line.slice(0, tab).split(/ +/);
  // Otherwise it would be listed as an empty file.
  if (size === 'BAD')
    throw incomplete(`the bundle does not contain the object ${id}, which it needs`);
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
