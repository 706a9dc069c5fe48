import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isSystemError } from '../../files.ts';
import { GitError } from '../../git/git.ts';
import type { Source } from '../base/source.ts';

/** What to do about a source that does not have its whole history. */
export const incompleteSource = {
  shallow:
    'the repository is shallow, so its history is incomplete; run `git fetch --unshallow` in it',
  partial:
    'the repository is a partial clone, which lacks objects that its own remote has; back up that remote, or complete it with `git config --unset remote.origin.partialCloneFilter` and `git fetch --refetch`',
  grafted:
    'the repository hides a part of its history with grafts (info/grafts), so git cannot copy all of it; run `git replace --convert-graft-file` in it',
} as const;

/**
 * Throws GitError for a folder that does not have its whole history. git transfers it without a word if the mirror has
 * what it lacks. Only asked once git has read the folder: in a file system that hangs, git can be stopped, but not a
 * call of our own.
 */
export async function requireWhole({ isLocal, location }: Source): Promise<void> {
  if (!isLocal) return;
  const folder = await findCommonFolder(location);
  if (hasLines(await readText(join(folder, 'shallow'))))
    throw new GitError(incompleteSource.shallow);
  if (hasLines(await readText(join(folder, 'info', 'grafts')))) {
    throw new GitError(incompleteSource.grafted);
  }
  if (isFiltered(await readText(join(folder, 'config'))))
    throw new GitError(incompleteSource.partial);
}

/** The folder that a repository shares with its work trees, of which it may be one. A bundle has none of its files. */
async function findCommonFolder(location: string): Promise<string> {
  const inside = join(location, '.git');
  const link = /^gitdir: (.+)$/m.exec(await readText(inside))?.[1];
  const isWorkTree = await isFolder(inside);
  const gitDir = isWorkTree ? inside : location;
  const own = link === undefined ? gitDir : resolve(location, link.trimEnd());
  const common = (await readText(join(own, 'commondir'))).trim();
  return common === '' ? own : resolve(own, common);
}

/** Whether a remote of a configuration leaves objects out. */
function isFiltered(config: string): boolean {
  return /^[ \t]*partialclonefilter[ \t]*=[ \t]*\S/im.test(config);
}

/** Whether there is a line that is not empty and no comment. */
function hasLines(text: string): boolean {
  return /^[^\s#]/m.test(text);
}

/** The text of a file; empty if it cannot be read. */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isSystemError(error)) return '';
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}
