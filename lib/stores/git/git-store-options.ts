import type { Clock } from '../../clock.ts';
import type { Environment } from '../../config/read.ts';
import type { GitAddress } from '../../config/stores/store-address.ts';
import type { GitError } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import type { StoreFault } from '../object-store.ts';

/** What git repositories that are stores need to be used. */
export interface GitStoreAccess {
  /** The process's environment, parts of which are passed to git. */
  environment: Environment;
  /** Null if git has its own credentials. Throws GitError. */
  credential(address: GitAddress): Promise<GitCredential | null>;
  /** Called before each push. Throws StoreFault if what waits may not be pushed. */
  beforePush(address: GitAddress): Promise<void>;
  /** A failure of git as one of a store. */
  explain(address: GitAddress, error: GitError): Promise<StoreFault>;
  /** Milliseconds to wait after this many failures of a push; null if a retry is pointless. */
  pauseAfter(error: GitError, tries: number): number | null;
  /** Whether a repository with archives of the layout `files` may be opened. */
  mayHaveFiles?: boolean;
  /** The size of parts, by default `MAX_PART_BYTES`. */
  maxPartBytes?: number;
  /** How much is pushed at once, by default 1 GiB. */
  maxPendingBytes?: number;
}

export interface GitStoreOptions {
  address: GitAddress;
  access: GitStoreAccess;
  /** Where the repository is cloned to, in a folder that is removed. */
  folder: string;
  clock: Clock;
  signal: AbortSignal;
  /** Waits as long as the limit of bytes in a second needs. */
  pace(bytes: number): Promise<void>;
}
