import { GitError } from '../../git/git.ts';
import { parsePart } from './parts.ts';
import type { RepositoryClone } from './repository-clone.ts';

/** A destination with more files is not used. */
const MAX_FILES = 2_000_000;

/** The files of a commit: ids by path. Throws GitError. */
export async function readFiles(
  clone: RepositoryClone,
  commit: string | null,
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  if (commit === null) return files;
  const text = clone.stream(['ls-tree', '-r', '-z', '--full-tree', commit], '\0');
  for await (const record of text) {
    if (files.size === MAX_FILES)
      throw new GitError(`it has more than ${MAX_FILES} files`, 'output');
    const end = record.indexOf('\t');
    const [mode = '', , id = ''] = record.slice(0, end).split(' ');
    const path = record.slice(end + 1);
    // A link or submodule cannot be a part: nothing can be read from it.
    if (!mode.startsWith('100') && parsePart(path) !== null) continue;
    files.set(path, id);
  }
  return files;
}

/** When each file below `archives` was added, in milliseconds since the epoch. Throws GitError. */
export async function readTimes(
  clone: RepositoryClone,
  commit: string | null,
): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  if (commit === null) return times;
  const args = ['log', '-m', '--no-renames', '--diff-filter=A', '--name-only', '-z'];
  const log = clone.stream([...args, '--format=%x01%ct', commit, '--', 'archives'], '\0');
  let at = 0;
  for await (const record of log) {
    for (const line of record.split('\n')) {
      if (line.startsWith('\x01')) at = Number(line.slice(1)) * 1_000;
      // The newest commit comes first.
      else if (line !== '' && !times.has(line)) times.set(line, at);
    }
  }
  return times;
}

/** The changes of a commit: ids of files that it adds or replaces, null for those that it removes. */
export type Changes = ReadonlyMap<string, string | null>;

/** Writes the tree of a commit with changes. None of its files need to be here. Throws GitError. */
export async function writeTree(
  clone: RepositoryClone,
  commit: string | null,
  changes: Changes,
): Promise<string> {
  await clone.local(commit === null ? ['read-tree', '--empty'] : ['read-tree', commit]);
  const none = '0'.repeat(40);
  const lines = [...changes].map(([path, id]) =>
    id === null ? `0 ${none}\t${path}\0` : `100644 ${id}\t${path}\0`,
  );
  await clone.local(['update-index', '-z', '--index-info'], { stdin: lines.join('') });
  return (await clone.local(['write-tree', '--missing-ok'])).trim();
}
