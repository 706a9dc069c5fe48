import { constants } from 'node:fs';
import { access, lstat, open, readlink, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isSystemError, nullIfMissing } from '../../files.ts';
import { GitError } from '../../git/git.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Source } from '../base/source.ts';
import { isRepository, statOrNull } from './is-repository.ts';

/** More than any file that says where a worktree belongs, or what its HEAD is. */
const MAX_POINTER_BYTES = 8_192;

/** What a repository always has. */
const PARTS = ['HEAD', 'objects', 'refs'] as const;

/**
 * Throws GitError with what is wrong with the place of a local source, if its files show that; git itself often says no
 * more than that it is no repository. Only asked once git has failed: in a file system that hangs, git can be stopped,
 * but not a call of our own, which would occupy one of the few threads for all files.
 */
export async function explainFolder({ isLocal, location }: Source): Promise<void> {
  if (!isLocal) return;
  const found = await look(location);
  if (found === null) throw new GitError(await describeAbsent(location));
  if (found.isFile())
    throw new GitError(`${location} is a file, and no git bundle that can be read`);
  if (!found.isDirectory()) {
    const kind = found.isSocket() ? 'a socket' : found.isFIFO() ? 'a pipe' : 'a device';
    throw new GitError(`${location} is ${kind}, and no git repository`);
  }
  await requireReadable(location, location);
  if (!(await isRepository(location))) {
    throw new GitError(`the folder ${location} is no git repository, and holds none`);
  }
  const folder = await findGitFolder(location);
  const shared = await findShared(folder);
  await requireReadable(location, folder);
  const missing: string[] = [];
  for (const part of PARTS) {
    const path = join(part === 'HEAD' ? folder : shared, part);
    if ((await look(path)) === null) missing.push(part);
    else await requireReadable(location, path);
  }
  if (missing.length > 0) {
    throw new GitError(`the repository is damaged: it has no ${missing.join(' and no ')}`);
  }
  await requireAlternates(join(shared, 'objects'));
  const head = await readPointer(join(folder, 'HEAD'));
  if (head !== null && /^(?:ref: *refs\/\S|[0-9a-f]{40}(?:[0-9a-f]{24})?\s*$)/.test(head)) return;
  // An old form: HEAD is a link to the file of a branch, which need not be there yet.
  if ((await lstat(join(folder, 'HEAD'))).isSymbolicLink()) return;
  throw new GitError('the repository is damaged: its HEAD names neither a branch nor a commit');
}

/** What is at a path, null if nothing is; throws GitError if the path itself cannot be followed. */
async function look(path: string) {
  try {
    return await nullIfMissing(stat(path));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'ELOOP') throw new GitError(`${path} is a link that leads back to itself`);
    if (error.code === 'ENOTDIR') {
      throw new GitError(`there is no folder ${path}: a part of this path is a file`);
    }
    if (error.code === 'EACCES') throw new GitError(unreadable(path));
    throw error;
  }
}

const unreadable = (path: string) =>
  `${path} may not be read by the user that runs the worker (permission denied)`;

/** Throws GitError if a file or folder may not be read. */
async function requireReadable(location: string, path: string): Promise<void> {
  const isFolder = (await statOrNull(path))?.isDirectory() === true;
  try {
    await access(path, constants.R_OK | (isFolder ? constants.X_OK : 0));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code !== 'EACCES') return;
    const what = path === location ? '' : `${path.slice(location.length + 1)} in the repository `;
    throw new GitError(`${what}${unreadable(location)}`);
  }
}

async function describeAbsent(location: string): Promise<string> {
  if ((await nullIfMissing(lstat(location)))?.isSymbolicLink()) {
    const target = await readlink(location);
    return `there is no folder ${location}: it is a link to ${target}, which does not exist`;
  }
  return `there is no folder ${location}${hintAbout(location)}`;
}

/** The folder with HEAD. Throws GitError if a `.git` file leads nowhere, as in a worktree whose repository is gone. */
async function findGitFolder(location: string): Promise<string> {
  const path = join(location, '.git');
  const found = await look(path);
  if (found === null) return location;
  if (found.isDirectory()) return path;
  const pointer = /^gitdir: ?(.+)/.exec((await readPointer(path)) ?? '')?.[1]?.trimEnd();
  if (pointer === undefined) {
    throw new GitError('the repository is damaged: its .git is a file that names no folder');
  }
  const folder = resolve(location, pointer);
  if ((await look(folder)) !== null) return folder;
  const main = findMain(folder);
  if (main === null) {
    throw new GitError(`its .git leads to ${cleanText(folder)}, which does not exist`);
  }
  const { kind, repository } = main;
  if ((await look(repository)) === null) {
    throw new GitError(
      `it is ${kind} of ${cleanText(repository)}, which does not exist: its history was there`,
    );
  }
  throw new GitError(
    `it is ${kind} of ${cleanText(repository)}, which no longer knows it: back up that repository, or run \`git worktree repair\` there`,
  );
}

/** The repository of a worktree or a submodule, by the folder that its `.git` names; null for any other. */
function findMain(folder: string): { kind: string; repository: string } | null {
  const parts = folder.split('/');
  const end = parts.lastIndexOf('worktrees');
  const [kind, at] = end > 0 ? ['a worktree', end] : ['a submodule', parts.indexOf('modules')];
  if (at <= 0) return null;
  const common = parts.slice(0, at).join('/') || '/';
  return { kind, repository: basename(common) === '.git' ? dirname(common) : common };
}

/** Throws GitError if the repository borrows objects from a folder that is not there. */
async function requireAlternates(objects: string): Promise<void> {
  const listed = (await readPointer(join(objects, 'info/alternates'))) ?? '';
  for (const line of listed.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const folder = resolve(objects, line);
    if ((await look(folder)) !== null) continue;
    throw new GitError(
      `the repository is damaged: it borrows objects from ${cleanText(folder)} (objects/info/alternates), which does not exist`,
    );
  }
}

/** Where a worktree has its objects and refs: in its main repository. */
async function findShared(folder: string): Promise<string> {
  const common = await readPointer(join(folder, 'commondir'));
  return common === null ? folder : resolve(folder, common.trimEnd());
}

/** The start of a small file; null for anything else. */
async function readPointer(path: string): Promise<string | null> {
  const found = await statOrNull(path);
  if (!found?.isFile() || found.size > MAX_POINTER_BYTES) return null;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** What a shell leaves alone within quotes ends up in a path. */
function hintAbout(path: string): string {
  if (/(?:^|\/)~/.test(path)) return ': a shell replaces ~ only where it is not in quotes';
  if (!/[*?[]/.test(path)) return '';
  return ': a shell replaces a pattern only where it is not in quotes; a folder of repositories needs none';
}
