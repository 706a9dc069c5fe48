import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { isLoopbackHost } from '../../text/network.ts';

/** A folder, for example on a network disk. */
export interface FolderAddress {
  kind: 'folder';
  /** Without parameters, for messages. */
  text: string;
  /** An absolute path. */
  path: string;
}

/** A bucket of AWS S3 or a compatible service. */
export interface BucketAddress {
  kind: 's3';
  /** Without parameters, for messages. */
  text: string;
  bucket: string;
  /** Empty, or ends in a slash. */
  prefix: string;
  /** Null for AWS. */
  endpoint: string | null;
  region: string | null;
  /** Whether the bucket is part of the path instead of the host name. */
  isPathStyle: boolean;
  /** The profile of the AWS configuration with the credentials; null for the default. */
  profile: string | null;
  /** Whether the store supports writes that never overwrite an object (`If-None-Match`). */
  isConditional: boolean;
  /** Whether the owner declares that nobody else may read it. */
  isPrivate: boolean;
}

/** A git repository, whose default branch holds the objects. */
export interface GitAddress {
  kind: 'git';
  /** For messages. */
  text: string;
  /** The argument passed to git: an absolute path, or an address without credentials. */
  location: string;
  isLocal: boolean;
  /** In lower case; null for a path. */
  hostname: string | null;
  /** Protocols that git may use, as in GIT_ALLOW_PROTOCOL. */
  protocols: string;
}

export type StoreAddress = FolderAddress | BucketAddress | GitAddress;

/**
 * Whether the owner allows unencrypted archives of private repositories there. Who can read a folder is the owner's
 * decision. False for a git repository, which is checked before each push.
 */
export function mayHoldPrivate(address: StoreAddress): boolean {
  return address.kind === 'folder' || (address.kind === 's3' && address.isPrivate);
}

/** Identifies a store in records about it. Parameters such as the region do not change it. */
export function storeId(address: StoreAddress): string {
  const text = `${address.kind} ${placeOf(address)}`;
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function placeOf(address: StoreAddress): string {
  if (address.kind === 'folder') return address.path;
  if (address.kind === 'git') return address.location;
  return [address.endpoint ?? 'aws', address.bucket, address.prefix].join(' ');
}

/** An invalid address. The message starts with a verb and never repeats the address. */
export class StoreAddressError extends Error {
  override readonly name = 'StoreAddressError';
}

const parameters = {
  endpoint: /^https?:\/\/[^\s]+$/,
  region: /^[a-z0-9-]{1,50}$/,
  'path-style': /^(?:yes|no)$/,
  profile: /^[\w.@+-]{1,100}$/,
  conditional: /^(?:yes|no)$/,
  private: /^(?:yes|no)$/,
};
type Parameter = keyof typeof parameters;

/**
 * Parses `s3://bucket/prefix?endpoint=…&region=…&path-style=yes&profile=…&conditional=no&private=yes`,
 * `file:///folder`, or `git+https://…`, `git+ssh://…` and `git+file:///…`. Throws StoreAddressError.
 */
export function parseStoreAddress(text: string): StoreAddress {
  if (/^(?:[/~]|\.{1,2}\/)/.test(text)) {
    throw invalid('contains a plain path; write a folder as `file:///folder`');
  }
  if (/[\p{Cc}\s]/u.test(text) || !URL.canParse(text)) throw invalid('contains something else');
  if (/^git\+/i.test(text)) return parseRepository(text.slice('git+'.length));
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw invalid('contains credentials; give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  if (url.hash !== '') throw invalid('contains a fragment');
  if (url.protocol === 'file:') return parseFolder(url);
  if (url.protocol === 's3:') return parseBucket(url);
  throw invalid('contains something else');
}

function parseFolder(url: URL): FolderAddress {
  if (url.search !== '') throw invalid('has parameters for a folder, which takes none');
  try {
    const path = fileURLToPath(url).replace(/(?<=.)\/+$/, '');
    return { kind: 'folder', text: `file://${path}`, path };
  } catch (cause) {
    throw invalid('contains a file URL that is not a local path', cause);
  }
}

/** Rules as for sources: no credentials, and http only to loopback. */
function parseRepository(text: string): GitAddress {
  if (!URL.canParse(text)) throw invalid('contains something else');
  const url = new URL(text);
  const { protocol, hostname, username, password, search, hash, pathname } = url;
  if (password !== '' || (username !== '' && protocol !== 'ssh:')) {
    throw invalid(
      'contains credentials; use those of git, or `login github --profile destination`',
    );
  }
  if (search !== '' || hash !== '') throw invalid('has parameters for git, which takes none');
  if (protocol === 'file:') {
    const { path } = parseFolder(url);
    return localRepository(path);
  }
  const isEncrypted = protocol === 'https:' || protocol === 'ssh:';
  if (!isEncrypted && protocol !== 'http:') throw invalid('contains something else');
  if (!isEncrypted && !isLoopbackHost(hostname)) {
    throw invalid('has a repository over http, which is only allowed to loopback');
  }
  if (hostname === '' || hostname.startsWith('-') || /^\/*$/.test(pathname)) {
    throw invalid('names no repository');
  }
  return {
    kind: 'git',
    text: `git+${url.href}`,
    location: url.href,
    isLocal: false,
    hostname: hostname.toLowerCase(),
    protocols: isEncrypted ? 'https:ssh:file' : 'https:ssh:file:http:git',
  };
}

/** The address of a repository on this machine. */
export function localRepository(path: string): GitAddress {
  return {
    ...{ kind: 'git', text: `git+file://${path}`, location: path },
    ...{ isLocal: true, hostname: null, protocols: 'https:ssh:file' },
  };
}

function parseBucket({ hostname, port, pathname, searchParams }: URL): BucketAddress {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(hostname) || port !== '') {
    throw invalid('contains an invalid bucket name');
  }
  const given: Partial<Record<Parameter, string>> = {};
  for (const [name, value] of searchParams) {
    if (!(name in parameters) || given[name as Parameter] !== undefined) {
      throw invalid(`has unknown or repeated parameters; known: ${listParameters()}`);
    }
    if (!parameters[name as Parameter].test(value)) {
      throw invalid(`has an invalid value of ${name}`);
    }
    given[name as Parameter] = value;
  }
  const prefix = decodePrefix(pathname);
  return {
    kind: 's3',
    text: `s3://${hostname}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`,
    bucket: hostname,
    prefix,
    endpoint: given.endpoint === undefined ? null : checkEndpoint(given.endpoint),
    region: given.region ?? null,
    isPathStyle: given['path-style'] === 'yes',
    profile: given.profile ?? null,
    isConditional: given.conditional !== 'no',
    isPrivate: given.private === 'yes',
  };
}

function decodePrefix(pathname: string): string {
  let path: string;
  try {
    path = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '');
  } catch (cause) {
    throw invalid('has an invalid prefix', cause);
  }
  const isClean = path.split('/').every((part) => /^[\w.+@=-]{1,255}$/.test(part));
  if (path !== '' && (!isClean || /(?:^|\/)\.{1,2}(?:\/|$)/.test(path))) {
    throw invalid('has a prefix with characters other than letters, digits and . _ + @ = -');
  }
  return path === '' ? '' : `${path}/`;
}

/** Credentials and contents are sent to the endpoint, so it must be https, or http to loopback. */
function checkEndpoint(text: string): string {
  if (!URL.canParse(text)) throw invalid('has an endpoint that is not a URL');
  const { protocol, hostname, username, password, search, origin, pathname } = new URL(text);
  if (protocol !== 'https:' && !isLoopbackHost(hostname)) {
    throw invalid('has an endpoint with http, which is only allowed to loopback');
  }
  if (username !== '' || password !== '') throw invalid('has an endpoint with credentials');
  if (search !== '') throw invalid('has an endpoint with parameters');
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

function listParameters(): string {
  return Object.keys(parameters).join(', ');
}

function invalid(fault: string, cause?: unknown): StoreAddressError {
  const form = 'must be like s3://bucket/prefix, file:///folder or git+https://host/owner/name.git';
  return new StoreAddressError(`${form}, but ${fault}`, { cause });
}
