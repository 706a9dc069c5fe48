import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toNamePart } from '../../archives/base/archive-name.ts';
import { AppError } from '../../errors.ts';
import type { CoverageFacts } from '../../records/recording/plans.ts';
import { isLoopbackHost } from '../../text/network.ts';

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
  /** What the git host reports about it; null if it was given on the command line. */
  host: HostFacts | null;
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

/** Includes ssh and file, because git may be configured to rewrite URLs to them (insteadOf). */
const SAFE_PROTOCOLS = 'https:ssh:file';
const LOOPBACK_PROTOCOLS = `${SAFE_PROTOCOLS}:http:git`;

const address = /^[a-z][a-z0-9+.-]*:\/\//i;
const shortAddress = /^(?:([^@:/\s]+)@)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\]):(?!:)([^\s].*)$/i;
/**
 * A URL without its two slashes. If it were taken for an ssh host or a path, credentials in it would go
 * unnoticed.
 */
const brokenAddress =
  /^[\s"'<(]*(?:https?|ssh|git|file|ftps?|sftp|rsync|svn|(?:git|svn)\+[a-z]+)\s*:/i;
const drivePath = /^[a-z]:[\\/]/i;

/** What is wrong with an address, starting with a verb. Never repeats the address. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
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

/**
 * Parses a PATH or URL; relative paths are relative to `folder`. Throws AddressError for an address that
 * contains credentials, is neither https, ssh nor local (http and git only to loopback), or has no repository
 * name.
 */
export function parseLocation(text: string, folder: string): Source {
  if (/\p{Cc}/u.test(text)) throw addressError('contains control characters');
  if (address.test(text)) return parseAddress(text);
  if (/^[a-z0-9+.-]+::/i.test(text))
    throw addressError('uses a transport helper, which is not allowed');
  if (brokenAddress.test(text)) {
    throw addressError('looks like a URL without two slashes after the protocol');
  }
  if (drivePath.test(text)) return localSource(resolve(folder, text));
  const short = shortAddress.exec(text);
  if (short) return parseShortAddress(text, short);
  if (/:\/+[^/]*@/.test(text)) throw addressError('looks like a URL with credentials in it');
  return localSource(resolve(folder, text));
}

function parseAddress(text: string): Source {
  if (!URL.canParse(text)) throw addressError('is not a valid URL');
  const url = new URL(text);
  const protocol = url.protocol.slice(0, -1);
  const isWeb = protocol === 'https' || protocol === 'http';
  if (url.password !== '' || (url.username !== '' && protocol !== 'ssh')) {
    throw addressError("contains credentials; remove them, git's credential helper supplies them");
  }
  if (url.search !== '' || url.hash !== '') throw addressError('contains a query or fragment');
  if (protocol === 'file') return localSource(pathOf(url));
  if (!isWeb && protocol !== 'ssh' && protocol !== 'git') {
    throw addressError(`has the protocol ${protocol}; https, ssh and file are allowed`);
  }
  const encrypted = protocol === 'https' || protocol === 'ssh';
  if (!encrypted && !isLoopbackHost(url.hostname)) {
    throw addressError(
      `has the unencrypted protocol ${protocol}, which is only allowed to loopback`,
    );
  }
  if (url.hostname === '' || url.hostname.startsWith('-')) throw addressError('names no host');
  return {
    name: nameFrom(url.hostname, decode(url.pathname)),
    location: url.href,
    isLocal: false,
    host: null,
    protocols: encrypted ? SAFE_PROTOCOLS : LOOPBACK_PROTOCOLS,
  };
}

function parseShortAddress(text: string, [, user = '', host = '', path = '']: string[]): Source {
  if (user.startsWith('-')) throw addressError('names no host');
  if (/^\/*[^/]*@/.test(path))
    throw addressError('contains credentials; remove them, ssh uses its keys');
  return {
    name: nameFrom(host, path),
    location: text,
    isLocal: false,
    host: null,
    protocols: SAFE_PROTOCOLS,
  };
}

function localSource(path: string): Source {
  const folder = basename(path) === '.git' ? dirname(path) : path;
  const name = withoutSuffix(basename(folder));
  if (name === '') throw addressError('has no folder name');
  return {
    name: `local/${toNamePart(name)}`,
    location: path,
    isLocal: true,
    host: null,
    protocols: SAFE_PROTOCOLS,
  };
}

/** The last two parts of a path; if there is only one, the host is the owner. */
function nameFrom(host: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const repository = withoutSuffix(parts.pop() ?? '');
  const owner = parts.pop() ?? host;
  if (['', '.', '..'].includes(repository) || ['.', '..'].includes(owner)) {
    throw addressError('has no repository name');
  }
  return `${toNamePart(owner)}/${toNamePart(repository)}`;
}

function withoutSuffix(name: string): string {
  return name.replace(/\.git$/i, '');
}

function decode(path: string): string {
  try {
    const decoded = decodeURIComponent(path);
    if (!/\p{Cc}/u.test(decoded)) return decoded;
  } catch (cause) {
    throw addressError('is not a valid URL', cause);
  }
  throw addressError('contains control characters');
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw addressError('is not a local path', cause);
  }
}

function addressError(fault: string, cause?: unknown): AddressError {
  return new AddressError(fault, { cause });
}
