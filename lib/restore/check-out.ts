import { isRejection } from '../archives/base/git-workspace.ts';
import { AppError } from '../errors.ts';
import { type Git, type GitError, isGitFailure } from '../git/git.ts';

/** Files that could not be written, because the file system rejects their names. */
export interface Unwritten {
  count: number;
  /** The first of their paths, quoted by git. */
  paths: string[];
}

/** A repository that gets a work tree. */
interface WorkTree {
  folder: string;
  gitDir: string;
}

/** With more files than this, they are not tried one by one. */
const MAX_FILES = 1_000_000;
/** How often git is restarted after a file that made it stop. */
const MAX_ROUNDS = 200;
const MAX_NAMED = 20;
const MAX_PATH_BYTES = 4_095;
const MAX_NAME_BYTES = 255;

const nameError = /unable to create (?:file|symlink)|cannot create directory/i;
const diskError =
  /unable to (?:write|stat)|no space left|disk quota|permission denied|read-only file system|input\/output error|too many open files/i;
/** Longer than the text to find, which may arrive in two pieces. */
const CARRIED_LENGTH = 64;

/**
 * Writes the files of a commit. Returns those whose names this file system rejects; null if all were written. Throws
 * CONFLICT if git refuses the files themselves, and GitError.
 */
export async function checkOut(
  git: Git,
  { folder, gitDir }: WorkTree,
  commit: string,
): Promise<Unwritten | null> {
  const options = [`--git-dir=${gitDir}`, `--work-tree=${folder}`];
  try {
    const isWhole = await writeFiles(git, [...options, 'read-tree', '--reset', '-u', commit]);
    return isWhole ? null : await checkOutRest(git, options, commit);
  } catch (error) {
    if (!isRejection(error)) throw error;
    throw refused(error);
  }
}

/**
 * False if some files were not written, only because of their names. A full disk leaves partial files, so it throws
 * GitError.
 */
async function writeFiles(git: Git, args: readonly string[], stdin?: string): Promise<boolean> {
  let isDiskFault = false;
  let end = '';
  // The error's message may be truncated.
  const onProgress = (text: string) => {
    end += text;
    isDiskFault ||= diskError.test(end);
    end = end.slice(-CARRIED_LENGTH);
  };
  try {
    await git.read(args, { onProgress, ...(stdin === undefined ? {} : { stdin }) });
    return true;
  } catch (error) {
    if (isDiskFault || !isNameFault(error)) throw error;
    return false;
  }
}

function isNameFault(error: unknown): boolean {
  return isGitFailure(error) && nameError.test(error.message);
}

function refused({ message }: GitError): AppError {
  return new AppError('CONFLICT', `git cannot check out the files, try \`--bare\`: ${message}`);
}

/** git stops at the first folder that it cannot create, so it is restarted after it. */
async function checkOutRest(
  git: Git,
  options: readonly string[],
  commit: string,
): Promise<Unwritten | null> {
  await git.read([...options, 'read-tree', '--reset', commit]);
  let left = await listUnwritten(git, options);
  // Writable files come first, so that the rounds suffice for them.
  left = [...left.filter((path) => !isLong(path)), ...left.filter(isLong)];
  for (let round = 0; round < MAX_ROUNDS && left.length > 0; round++) {
    const stdin = left.map((path) => `${path}\n`).join('');
    const write = [...options, 'checkout-index', '--quiet', '--index', '--stdin'];
    if (await writeFiles(git, write, stdin)) break;
    const unwritten = new Set(await listUnwritten(git, options));
    // The first one was tried in any case.
    left = left.filter((path) => unwritten.has(path)).slice(1);
  }
  const paths = await listUnwritten(git, options);
  return paths.length === 0 ? null : { count: paths.length, paths: paths.slice(0, MAX_NAMED) };
}

/** The files of the index that do not exist, quoted by git so that arbitrary bytes survive. */
async function listUnwritten(git: Git, options: readonly string[]): Promise<string[]> {
  const paths: string[] = [];
  const list = [...options, '-c', 'core.quotePath=true', 'ls-files', '--deleted'];
  for await (const path of git.stream(list, '\n')) {
    paths.push(path);
    if (paths.length > MAX_FILES) {
      throw new AppError(
        'CONFLICT',
        `git cannot check out the files, try \`--bare\`: more than ${MAX_FILES} could not be written`,
      );
    }
  }
  return paths;
}

function isLong(quoted: string): boolean {
  const path = quoted.startsWith('"')
    ? quoted.slice(1, -1).replace(/\\(?:[0-7]{3}|.)/g, '?')
    : quoted;
  return (
    path.length > MAX_PATH_BYTES || path.split('/').some((name) => name.length > MAX_NAME_BYTES)
  );
}
