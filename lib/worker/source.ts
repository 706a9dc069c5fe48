import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../errors.ts';

/** A repository to back up. */
export interface Source {
  /** `owner/repo`, the last two parts of the address, or `local/<folder name>`. */
  name: string;
  /** What git is given: an absolute path or an address, never with credentials. */
  location: string;
  /** True when `location` is a path of this machine. */
  isLocal: boolean;
  /** Protocols that git may use, as in GIT_ALLOW_PROTOCOL. */
  protocols: string;
  /** What the git host says about it; null if it was named on the command line. */
  host: HostFacts | null;
}

/** What the git host says about a repository that was discovered there. */
export interface HostFacts {
  /** The host's address. */
  url: string;
  isPrivate: boolean;
  /** For the log, such as `archived on the git host`. */
  remarks: readonly string[];
  /** Why it cannot be backed up, if that is known in advance. */
  fault: string | null;
  /** A token that is valid now. Throws as `TokenSource.source`. */
  token(): Promise<string>;
  /** Asks the host why git could not read the repository; null if it knows no reason. */
  explain(): Promise<string | null>;
}

/** Includes ssh and file, because a person's git may rewrite addresses to them (insteadOf). */
const SAFE_PROTOCOLS = 'https:ssh:file';
const LOOPBACK_PROTOCOLS = `${SAFE_PROTOCOLS}:http:git`;

const address = /^[a-z][a-z0-9+.-]*:\/\//i;
const shortAddress = /^(?:([^@:/\s]+)@)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\]):(?!:)([^\s].*)$/i;
/** An address without its two slashes; taken for an ssh host or a path, it would keep its credentials. */
const brokenAddress =
  /^[\s"'<(]*(?:https?|ssh|git|file|ftps?|sftp|rsync|svn|(?:git|svn)\+[a-z]+)\s*:/i;
const drivePath = /^[a-z]:[\\/]/i;
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

/** What is wrong with an address, as in `has …`; never repeats the address. */
export class AddressFault extends Error {
  override readonly name = 'AddressFault';
}

/** Parses the PATH or URL of a `--source`. Throws BAD_REQUEST. */
export function parseSource(text: string, folder: string): Source {
  try {
    return parseLocation(text, folder);
  } catch (error) {
    if (!(error instanceof AddressFault)) throw error;
    throw new AppError('BAD_REQUEST', `a --source ${error.message}`, { cause: error.cause });
  }
}

/**
 * Parses a PATH or URL; relative paths are relative to `folder`. Throws AddressFault for an address that
 * contains credentials, that is neither https, ssh nor local (http and git only to loopback), or that names
 * no repository.
 */
export function parseLocation(text: string, folder: string): Source {
  if (/\p{Cc}/u.test(text)) throw refused('has control characters in it');
  if (address.test(text)) return parseAddress(text);
  if (/^[a-z0-9+.-]+::/i.test(text))
    throw refused('names a transport helper, which is not allowed');
  if (brokenAddress.test(text)) {
    throw refused('begins like an address, but without two slashes after the protocol');
  }
  if (drivePath.test(text)) return localSource(resolve(folder, text));
  const short = shortAddress.exec(text);
  if (short) return parseShortAddress(text, short);
  if (/:\/+[^/]*@/.test(text)) throw refused('looks like an address with credentials in it');
  return localSource(resolve(folder, text));
}

function parseAddress(text: string): Source {
  if (!URL.canParse(text)) throw refused('is not a valid URL');
  const url = new URL(text);
  const protocol = url.protocol.slice(0, -1);
  const isWeb = protocol === 'https' || protocol === 'http';
  if (url.password !== '' || (url.username !== '' && protocol !== 'ssh')) {
    throw refused("has credentials in it; leave them out, git's credential helper supplies them");
  }
  if (url.search !== '' || url.hash !== '') throw refused('has a query or a fragment in it');
  if (protocol === 'file') return localSource(pathOf(url));
  if (!isWeb && protocol !== 'ssh' && protocol !== 'git') {
    throw refused(`has the protocol ${protocol}; https, ssh and file are allowed`);
  }
  const encrypted = protocol === 'https' || protocol === 'ssh';
  if (!encrypted && !loopbackHost.test(url.hostname)) {
    throw refused(`has the unencrypted protocol ${protocol}; that is allowed to loopback only`);
  }
  if (url.hostname === '' || url.hostname.startsWith('-')) throw refused('names no host');
  return {
    name: nameFrom(url.hostname, decode(url.pathname)),
    location: url.href,
    isLocal: false,
    host: null,
    protocols: encrypted ? SAFE_PROTOCOLS : LOOPBACK_PROTOCOLS,
  };
}

function parseShortAddress(text: string, [, user = '', host = '', path = '']: string[]): Source {
  if (user.startsWith('-')) throw refused('names no host');
  if (/^\/*[^/]*@/.test(path))
    throw refused('has credentials in it; leave them out, ssh uses its keys');
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
  if (name === '') throw refused('has no folder name to be called by');
  return {
    name: `local/${name}`,
    location: path,
    isLocal: true,
    host: null,
    protocols: SAFE_PROTOCOLS,
  };
}

/** The last two parts of a path; if there is only one, the host stands for the owner. */
function nameFrom(host: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const repository = withoutSuffix(parts.pop() ?? '');
  const owner = parts.pop() ?? host;
  if (['', '.', '..'].includes(repository) || ['.', '..'].includes(owner)) {
    throw refused('names no repository');
  }
  return `${owner}/${repository}`;
}

function withoutSuffix(name: string): string {
  return name.replace(/\.git$/i, '');
}

function decode(path: string): string {
  try {
    const decoded = decodeURIComponent(path);
    if (!/\p{Cc}/u.test(decoded)) return decoded;
  } catch (cause) {
    throw refused('is not a valid URL', cause);
  }
  throw refused('has control characters in it');
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw refused('is not a path of this machine', cause);
  }
}

function refused(fault: string, cause?: unknown): AddressFault {
  return new AddressFault(fault, { cause });
}
