import { ConfigError } from '../../config/read.ts';
import { isRepositoryName } from '../discovery/host-repository.ts';
import { AddressFault, parseLocation } from '../source.ts';

/** The repository that archives are pushed to, as BACKUP_REPO_PATH names it. */
export interface PushTarget {
  /** What git is given: an absolute path or an address, never with credentials. */
  location: string;
  /** Only https (http to loopback) takes a token of ours; ssh uses its keys. */
  kind: 'https' | 'ssh' | 'local';
  /** In lower case; null for a path of this machine. */
  hostname: string | null;
  /** `owner/name` of the address; null when its path is not of that form. */
  repository: string | null;
  protocols: string;
}

/** Reads BACKUP_REPO_PATH; relative paths are relative to `folder`. Throws ConfigError. */
export function readTarget(address: string | undefined, folder: string): PushTarget | null {
  if (address === undefined) return null;
  try {
    const { location, isLocal, protocols } = parseLocation(address, folder);
    if (isLocal) return { location, kind: 'local', hostname: null, repository: null, protocols };
    const { kind, hostname, path } = splitAddress(location);
    const repository = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
    return {
      ...{ location, kind, hostname, protocols },
      repository: isRepositoryName(repository) ? repository : null,
    };
  } catch (error) {
    if (error instanceof AddressFault) throw new ConfigError(`BACKUP_REPO_PATH ${error.message}`);
    throw error;
  }
}

/** Splits an accepted address. */
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

/** Is the target on a git host? Compares names only: ssh and https have different ports. */
export function isOn(target: PushTarget, hostUrl: string): boolean {
  return target.hostname === new URL(hostUrl).hostname.toLowerCase();
}

/** Full name, in lower case, of the target on a git host; null when it is not there. */
export function repositoryOn(target: PushTarget, hostUrl: string): string | null {
  return isOn(target, hostUrl) ? (target.repository?.toLowerCase() ?? null) : null;
}
