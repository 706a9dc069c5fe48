import { ConfigError } from '../../../config/read.ts';
import {
  type GitAddress,
  localRepository,
  type StoreAddress,
} from '../../../config/stores/store-address.ts';
import { AddressError } from '../../../text/source-address.ts';
import { parseLocation } from '../../base/source.ts';
import { isSafeFullName } from '../../hosts/host-repository.ts';

/** The repository that archives are pushed to (BACKUP_REPO_PATH). */
export interface PushTarget {
  /** An absolute path or a URL without credentials. */
  location: string;
  /** Tokens are sent over https only (http to loopback); ssh uses its own keys. */
  kind: 'https' | 'ssh' | 'local';
  /** In lower case; null for a local path. */
  hostname: string | null;
  /** `owner/name`; null if the path does not have that form. */
  repository: string | null;
  protocols: string;
}

/** Reads BACKUP_REPO_PATH; relative paths are relative to `folder`. Throws ConfigError. */
export function readTarget(address: string | undefined, folder: string): PushTarget | null {
  if (address === undefined) return null;
  try {
    const { location, isLocal, protocols } = parseLocation(address, folder);
    return describeTarget(location, isLocal, protocols);
  } catch (error) {
    if (error instanceof AddressError) throw new ConfigError(`BACKUP_REPO_PATH ${error.message}`);
    throw error;
  }
}

/** The repository of a store's address. */
export function targetOf({ location, isLocal, protocols }: GitAddress): PushTarget {
  return describeTarget(location, isLocal, protocols);
}

/** The address of a destination in the form of a store's address. */
export function addressOf({ location, kind, hostname, protocols }: PushTarget): GitAddress {
  if (kind === 'local') return localRepository(location);
  const text = location.includes('://') ? `git+${location}` : location;
  return { kind: 'git', text, location, isLocal: false, hostname, protocols };
}

function describeTarget(location: string, isLocal: boolean, protocols: string): PushTarget {
  if (isLocal) return { location, kind: 'local', hostname: null, repository: null, protocols };
  const { kind, hostname, path } = splitAddress(location);
  const repository = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
  return {
    ...{ location, kind, hostname, protocols },
    repository: isSafeFullName(repository) ? repository : null,
  };
}

/** Splits a valid address. */
function splitAddress(
  location: string,
): Pick<PushTarget, 'kind'> & { hostname: string; path: string } {
  if (!location.includes('://')) {
    const [, hostname = '', path = ''] = /^(?:[^@]*@)?([^:]*):(.*)$/.exec(location) ?? [];
    return { kind: 'ssh', hostname: hostname.toLowerCase(), path };
  }
  const { protocol, hostname, pathname } = new URL(location);
  return {
    kind: protocol === 'ssh:' ? 'ssh' : 'https',
    hostname: hostname.toLowerCase(),
    path: pathname,
  };
}

/** Whether the target is on a git host. Compares only host names, since ssh and https have different ports. */
export function isOn(target: PushTarget, hostUrl: string): boolean {
  return target.hostname === new URL(hostUrl).hostname.toLowerCase();
}

/** Full names, in lower case, of all repositories on a git host that archives are pushed to. */
export function repositoriesOn(
  hostUrl: string,
  target: PushTarget | null,
  stores: readonly StoreAddress[],
): string[] {
  const targets = stores.flatMap((one) => (one.kind === 'git' ? [targetOf(one)] : []));
  const all = target === null ? targets : [target, ...targets];
  return all.flatMap((one) => repositoryOn(one, hostUrl) ?? []);
}

/** Full name of the target in lower case, if it is on that git host; else null. */
function repositoryOn(target: PushTarget, hostUrl: string): string | null {
  return isOn(target, hostUrl) ? (target.repository?.toLowerCase() ?? null) : null;
}
