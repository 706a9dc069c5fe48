import { createHash } from 'node:crypto';
import { addSuffix, archiveKey, isSameRepository } from '../../archives/base/archive-name.ts';
import { openFound } from '../../archives/base/open-archive.ts';
import { canonicalAddress } from '../../text/source-address.ts';
import type { Source } from '../base/source.ts';
import { readArchiveOnDisk } from './archive.ts';

const HASH_LENGTH = 8;

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
    const found = taken.has(key) ? null : await findOwner(folder, key, source.name);
    const owner = taken.get(key) ?? found?.address ?? null;
    const renamed = { ...source, name: otherName(source.name, source.location) };
    const other = archiveKey(renamed.name);
    const isFree = owner === null && found?.isOthers !== true;
    const isOwn =
      owner === address ||
      (isFree && (await findOwner(folder, other, renamed.name))?.address !== address);
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
  return addSuffix(name, hash.slice(0, HASH_LENGTH));
}

/** Whose archive a file is: of an address, of an unknown one, or nobody's. */
type ArchiveAddress = { address: string | null; isOthers: boolean } | null;

/** Whose archive has this file name. An archive without an address may be the source's, unless it is another's. */
async function findOwner(folder: string, key: string, name: string): Promise<ArchiveAddress> {
  const { record, files } = await readArchiveOnDisk(folder, key);
  if (record !== null && record.address !== null) {
    return { address: canonicalAddress(record.address), isOthers: false };
  }
  if (files.length === 0) return null;
  const found = await openFound(folder, key);
  if (found === null) return null;
  await found.archive.close();
  const { owner } = found;
  const isOthers =
    'repository' in owner
      ? owner.continues !== null || !isSameRepository(owner.repository, name)
      : owner.candidates.length > 0;
  return { address: null, isOthers };
}
