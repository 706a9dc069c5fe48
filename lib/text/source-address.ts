import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopbackHost } from './network.ts';

/** A parsed address of a repository, or of a folder that holds some. */
export interface SourceAddress {
  /** An absolute path or a URL without credentials. */
  location: string;
  /** Whether `location` is a local path. */
  isLocal: boolean;
  /** Protocols that git may use, as in GIT_ALLOW_PROTOCOL. */
  protocols: string;
  /** `local` for a path, else the part before the repository; the host if there is none. */
  owner: string;
  /** The last part, without `.git`. */
  repository: string;
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

/**
 * Parses a PATH or URL; relative paths are relative to `folder`. Throws AddressError for an address that
 * contains credentials, is neither https, ssh nor local (http and git only to loopback), or has no repository
 * name.
 */
export function parseSourceAddress(text: string, folder: string): SourceAddress {
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

function parseAddress(text: string): SourceAddress {
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
    ...nameFrom(url.hostname, decode(url.pathname)),
    location: url.href,
    isLocal: false,
    protocols: encrypted ? SAFE_PROTOCOLS : LOOPBACK_PROTOCOLS,
  };
}

function parseShortAddress(
  text: string,
  [, user = '', host = '', path = '']: string[],
): SourceAddress {
  if (user.startsWith('-')) throw addressError('names no host');
  if (/^\/*[^/]*@/.test(path))
    throw addressError('contains credentials; remove them, ssh uses its keys');
  return {
    ...nameFrom(host, path),
    location: text,
    isLocal: false,
    protocols: SAFE_PROTOCOLS,
  };
}

function localSource(path: string): SourceAddress {
  const folder = basename(path) === '.git' ? dirname(path) : path;
  const name = withoutSuffix(basename(folder));
  if (name === '') throw addressError('has no folder name');
  return {
    owner: 'local',
    repository: name,
    location: path,
    isLocal: true,
    protocols: SAFE_PROTOCOLS,
  };
}

/** The last two parts of a path; if there is only one, the host is the owner. */
function nameFrom(host: string, path: string): Pick<SourceAddress, 'owner' | 'repository'> {
  const parts = path.split('/').filter((part) => part !== '');
  const repository = withoutSuffix(parts.pop() ?? '');
  const owner = parts.pop() ?? host;
  if (['', '.', '..'].includes(repository) || ['.', '..'].includes(owner)) {
    throw addressError('has no repository name');
  }
  return { owner, repository };
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

/**
 * Reduces all addresses of a repository to the same text: host and path, in lower case. Git hosts ignore case, and
 * the protocol does not identify a repository. A local path is returned unchanged.
 */
export function canonicalAddress(address: string): string {
  if (/^[a-z]:[\\/]/i.test(address)) return address;
  const web = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^/]+)\/(.*)$/i.exec(address);
  const short = /^(?:[^@:/\s]+@)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\]):(?!:)([^\s].*)$/i.exec(
    address,
  );
  const [, host, path] = web ?? short ?? [];
  if (host === undefined || path === undefined) return address;
  const repository = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
  const isWeb = /^https?:/i.test(address);
  const user = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^@/:]+)@/i.exec(address)?.[1] ?? '';
  // Users other than `git` have their own folders, on a server where case matters.
  if (!isWeb && user !== 'git')
    return `${user}@${host.replace(/:22$/, '').toLowerCase()}/${repository}`;
  const at = host.replace(isWeb ? /:(?:80|443)$/ : /:22$/, '');
  return `${at}/${repository}`.toLowerCase();
}
