import type { Clock } from '../../clock.ts';
import type { Environment } from '../../config/read.ts';
import type { GitAddress } from '../../config/stores/store-address.ts';
import type { GitError } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import type { StoreFault } from '../base/object-store.ts';

/** What is needed to use git repositories as stores. */
export interface GitStoreAccess {
  /** The process's environment, parts of which are passed to git. */
  environment: Environment;
  /** Null if git has its own credentials. Throws GitError. */
  credential(address: GitAddress): Promise<GitCredential | null>;
  /** Called before each push. Throws StoreFault if the pending changes may not be pushed. */
  beforePush(address: GitAddress): Promise<void>;
  /** Converts a git failure into a store fault. */
  explain(address: GitAddress, error: GitError): Promise<StoreFault>;
  /** Milliseconds to wait after this many failures of a push; null if a retry is pointless. */
  pauseAfter(error: GitError, tries: number): number | null;
  /** Whether a repository with archives in the layout `files` may be opened. */
  mayHaveFiles?: boolean;
  /** The size of parts. Default: `MAX_PART_BYTES`. */
  maxPartBytes?: number;
  /** How much is pushed at once. Default: 1 GiB. */
  maxPendingBytes?: number;
}

export interface GitStoreOptions {
  address: GitAddress;
  access: GitStoreAccess;
  /** The repository is cloned into a temporary folder in here. */
  folder: string;
  clock: Clock;
  signal: AbortSignal;
  /** Waits as long as the bandwidth limit requires. */
  pace(bytes: number): Promise<void>;
}
