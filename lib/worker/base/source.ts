import { toNamePart } from '../../archives/base/archive-name.ts';
import { AppError } from '../../errors.ts';
import type { CoverageFacts } from '../../records/recording/plans.ts';
import { AddressError, parseSourceAddress } from '../../text/source-address.ts';

/** The uses of source tokens. */
export const sourceUses = ['project', 'organization', 'private'] as const;

/** What a source token is for. Only tokens in the environment differ by use. */
export type SourceUse = (typeof sourceUses)[number];

/** A repository to back up. */
export interface Source {
  /** `owner/repo` (the last two parts of the address) or `local/<folder name>`; a very long part is shortened. */
  name: string;
  /** An absolute path or a URL without credentials. */
  location: string;
  /** Whether `location` is a local path. */
  isLocal: boolean;
  /** Protocols that git may use, as in GIT_ALLOW_PROTOCOL. */
  protocols: string;
  /** What the git host reports about it; null if discovery did not find it. */
  host: HostFacts | null;
  /** The source that names it; absent in a worker that has not listed the repositories itself. */
  namedBy?: NamedBy;
}

/** What names a repository: a source that holds it, or is it. */
export interface NamedBy {
  /** Its canonical address, or LOGIN_KEY. */
  key: string;
  /** The patterns of the repositories in it that are left out. */
  exclude: readonly string[];
  /** How a person would name it. */
  label: string;
}

/** What the git host reports about a discovered repository. */
export interface HostFacts {
  /** The host's URL. */
  url: string;
  isPrivate: boolean;
  /** Bytes that it occupies there, as far as the host knows; null if it does not say. */
  sizeBytes: number | null;
  /** For the log, such as `archived on the git host`. */
  remarks: readonly string[];
  /** Further facts from the host; absent if another worker listed the repository, or if it is lost. */
  facts?: CoverageFacts;
  /** The kind of fault, if there is one. */
  plan?: 'disabled' | 'invalid_name' | 'lost';
  /** Why it cannot be backed up, if that is known in advance. */
  fault: string | null;
  /** Which token reads it. */
  use: SourceUse;
  /** A valid token. Throws like `TokenSource.source`. */
  token(): Promise<string>;
  /** Asks the host why git could not read the repository; null if it does not know. */
  explain(): Promise<string | null>;
}

/** Parses the PATH or URL of a `--source`. Throws BAD_REQUEST. */
export function parseSource(text: string, folder: string): Source {
  try {
    return parseLocation(text, folder);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new AppError('BAD_REQUEST', `a --source ${error.message}`, { cause: error.cause });
  }
}

/** The source at a PATH or URL; relative paths are relative to `folder`. Throws AddressError. */
export function parseLocation(text: string, folder: string): Source {
  const { owner, repository, ...address } = parseSourceAddress(text, folder);
  return { ...address, name: `${toNamePart(owner)}/${toNamePart(repository)}`, host: null };
}
