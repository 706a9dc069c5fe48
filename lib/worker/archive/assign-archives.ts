import { createHash } from 'node:crypto';
import type { Source } from '../source.ts';
import { archiveKey, readArchiveState } from './archive.ts';

const HASH_LENGTH = 8;
const incrementName = /^(.+)\.\d+\.bundle$/;

/** The sources of a run, each with an archive of its own. */
export interface Assigned {
  sources: Source[];
  /** Names of sources that were changed. `owner`: the address of the archive with that name; null if there is none. */
  renamed: { from: string; to: string; owner: string | null }[];
}

/**
 * Gives each source an archive of its own. An archive belongs to an address: a second address with the same
 * name is backed up as `<owner>/<repo>--<hash of the address>` in every run, even after the archive of the first
 * address was removed.
 */
export async function assignArchives(
  folder: string,
  sources: readonly Source[],
): Promise<Assigned> {
  const assigned: Assigned = { sources: [], renamed: [] };
  const taken = new Map<string, string>();
  for (const source of sources) {
    const key = archiveKey(source.name);
    const address = canonicalAddress(source.location);
    const owner = taken.get(key) ?? (await findOwner(folder, key));
    const renamed = { ...source, name: otherName(source.name, source.location) };
    const other = archiveKey(renamed.name);
    const isOwn =
      owner === address || (owner === null && (await findOwner(folder, other)) !== address);
    if (isOwn) {
      taken.set(key, address);
      assigned.sources.push(source);
      continue;
    }
    taken.set(other, address);
    assigned.sources.push(renamed);
    assigned.renamed.push({ from: source.name, to: renamed.name, owner });
  }
  return assigned;
}

/** The name of a source whose own name belongs to another address. */
export function otherName(name: string, location: string): string {
  const hash = createHash('sha256').update(canonicalAddress(location)).digest('hex');
  return `${name}--${hash.slice(0, HASH_LENGTH)}`;
}

/** The canonical address that an archive belongs to; null if it belongs to none. */
async function findOwner(folder: string, key: string): Promise<string | null> {
  try {
    const { record } = await readArchiveState(folder, key);
    if (record !== null) return record.address === null ? null : canonicalAddress(record.address);
    const [, stem] = incrementName.exec(key) ?? [];
    if (stem === undefined) return null;
    const other = (await readArchiveState(folder, `${stem}.bundle`)).record;
    const isIncrement = other?.increments.some(({ name }) => name === key) ?? false;
    return isIncrement && other !== null ? canonicalAddress(other.address ?? stem) : null;
  } catch (error) {
    // Only the backup of this source fails because of it.
    if ((error as NodeJS.ErrnoException).code === 'ENAMETOOLONG') return null;
    throw error;
  }
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
