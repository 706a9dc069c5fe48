import { isRejection } from '../archives/git-workspace.ts';
import { AppError } from '../errors.ts';
import { type Git, type GitError, isGitFailure } from '../git/git.ts';

/** Files that could not be written, because the file system does not take their names. */
export interface Unwritten {
  count: number;
  /** The first of them, as git quotes them. */
  paths: string[];
}

/** A repository that gets a work tree. */
interface WorkTree {
  folder: string;
  gitDir: string;
}

/** More files are not tried one by one. */
const MAX_FILES = 1_000_000;
/** How often git is started again behind a file that ends it. */
const MAX_ROUNDS = 200;
const MAX_NAMED = 20;
const MAX_PATH_BYTES = 4_095;
const MAX_NAME_BYTES = 255;

const ofName = /unable to create (?:file|symlink)|cannot create directory/i;
const ofDisk =
  /unable to (?:write|stat)|no space left|disk quota|permission denied|read-only file system|input\/output error|too many open files/i;
/** Longer than what is looked for, which may come in two pieces. */
const CARRIED_LENGTH = 64;

/**
 * Writes the files of a commit. Names that this file system does not take are left out, and returned; null if all are
 * written. Throws CONFLICT if git refuses the files themselves, and GitError.
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

/** False if only names kept git from writing files. A disk that is full would leave half a file, so that throws GitError. */
async function writeFiles(git: Git, args: readonly string[], stdin?: string): Promise<boolean> {
  let isOfDisk = false;
  let end = '';
  // The message of the error may be cut.
  const onProgress = (text: string) => {
    end += text;
    isOfDisk ||= ofDisk.test(end);
    end = end.slice(-CARRIED_LENGTH);
  };
  try {
    await git.read(args, { onProgress, ...(stdin === undefined ? {} : { stdin }) });
    return true;
  } catch (error) {
    if (isOfDisk || !isOfName(error)) throw error;
    return false;
  }
}

function isOfName(error: unknown): boolean {
  return isGitFailure(error) && ofName.test(error.message);
}

function refused({ message }: GitError): AppError {
  return new AppError('CONFLICT', `git cannot check out the files, try \`--bare\`: ${message}`);
}

/** Git ends at the first folder that it cannot make, so it is started again behind it. */
async function checkOutRest(
  git: Git,
  options: readonly string[],
  commit: string,
): Promise<Unwritten | null> {
  await git.read([...options, 'read-tree', '--reset', commit]);
  let left = await listUnwritten(git, options);
  // What can be written comes first, so that the rounds suffice for it.
  left = [...left.filter((path) => !isLong(path)), ...left.filter(isLong)];
  for (let round = 0; round < MAX_ROUNDS && left.length > 0; round++) {
    const stdin = left.map((path) => `${path}\n`).join('');
    const write = [...options, 'checkout-index', '--quiet', '--index', '--stdin'];
    if (await writeFiles(git, write, stdin)) break;
    const unwritten = new Set(await listUnwritten(git, options));
    // The first was tried in any case.
    left = left.filter((path) => unwritten.has(path)).slice(1);
  }
  const paths = await listUnwritten(git, options);
  return paths.length === 0 ? null : { count: paths.length, paths: paths.slice(0, MAX_NAMED) };
}

/** The files of the index that are not there, each quoted by git, so that any bytes survive. */
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
