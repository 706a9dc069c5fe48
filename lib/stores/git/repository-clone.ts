import type { GitAddress } from '../../config/stores/store-address.ts';
import type { Git, GitOptions } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';

/** The committer, as environment variables of git. */
export const committer = {
  GIT_AUTHOR_NAME: 'Backup Observatory',
  GIT_AUTHOR_EMAIL: 'backup-observatory@localhost',
  GIT_COMMITTER_NAME: 'Backup Observatory',
  GIT_COMMITTER_EMAIL: 'backup-observatory@localhost',
};

const TRANSFER_TIMEOUT_MS = 2 * 60 * 60_000;

export interface CloneOptions {
  git: Git;
  from: Pick<GitAddress, 'location' | 'isLocal' | 'protocols'>;
  gitDir: string;
  /** Called for each transfer; null if git has its own credentials. */
  credential(): Promise<GitCredential | null>;
}

/**
 * A clone of a repository for making commits, with its history and trees but without files. All methods throw GitError.
 */
export interface RepositoryClone {
  readonly gitDir: string;
  /** The full name of the default branch. */
  readonly branch: string;
  /** The commit of the default branch; null if it has none. */
  tip(): string | null;
  /** Runs git in the clone for its output. */
  local(args: readonly string[], options?: GitOptions): Promise<string>;
  /** Runs git in the clone and yields its records. */
  stream(args: readonly string[], separator: string): AsyncIterable<string>;
  /** Runs git in the clone with access to the repository. */
  transfer(args: readonly string[], options?: GitOptions): Promise<string>;
  /** Pushes a commit to the default branch, once. */
  push(commit: string): Promise<void>;
  /** Reads the current state of the default branch. */
  fetchTip(): Promise<void>;
}

/** Clones a repository. Throws GitError, or whatever `credential` throws. */
export async function openClone(options: CloneOptions): Promise<RepositoryClone> {
  const { git, from, gitDir, credential } = options;
  const transferOptions = async (): Promise<GitOptions> => ({
    protocols: from.protocols,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    credential: await credential(),
  });
  const local = async (args: readonly string[], more?: GitOptions) =>
    git.read([`--git-dir=${gitDir}`, ...args], more);
  const transfer = async (args: readonly string[], more: GitOptions = {}) =>
    git.read([`--git-dir=${gitDir}`, ...args], { ...(await transferOptions()), ...more });
  // The objects of a local path are used in place; a remote's files, possibly many GB, are not fetched.
  const partial = from.isLocal ? ['--shared'] : ['--no-local', '--filter=blob:none'];
  // Archives are already compressed.
  const settings = ['--config', 'core.compression=0'];
  const clone = ['clone', '--quiet', '--mirror', '--template=', ...settings, ...partial];
  await git.read([...clone, '--', from.location, gitDir], await transferOptions());
  const branch = (await local(['symbolic-ref', '--quiet', 'HEAD'])).trim();
  let tip: string | null = null;
  const readTip = async () => {
    tip = (await local(['for-each-ref', '--format=%(objectname)', branch])).trim() || null;
  };
  await readTip();
  return {
    ...{ gitDir, branch, local, transfer },
    stream: (args, separator) => git.stream([`--git-dir=${gitDir}`, ...args], separator),
    tip: () => tip,
    async push(commit) {
      // Not thin: git would compare with the old version of the file, which is not here.
      const plain = ['--quiet', '--no-thin', '--no-verify', '--no-signed', '--no-follow-tags'];
      const args = ['push', ...plain, '--recurse-submodules=no', '--', from.location];
      // Files that only moved to another path are not sent again.
      await transfer(['-c', 'pack.useSparse=false', ...args, `${commit}:${branch}`]);
    },
    async fetchTip() {
      const filter = from.isLocal ? [] : ['--filter=blob:none'];
      const fetch = ['fetch', '--quiet', '--prune', '--no-write-fetch-head', ...filter, 'origin'];
      await transfer(fetch);
      await readTip();
    },
  };
}
