import { archiveKey, MAX_REPOSITORY_LENGTH } from '../../../archives/base/archive-name.ts';
import type { TrackedRepository } from '../../../records/recording/repo-state.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { shellQuote } from '../../../text/shell-quote.ts';
import { canonicalAddress } from '../../../text/source-address.ts';
import { readArchiveRecord } from '../../archive/archive.ts';
import { describeAccess, type LookUp } from '../../hosts/look-up.ts';

/** A repository that was backed up from this host but is no longer listed. */
interface MissingRepository {
  repository: string;
  /** Why it is not listed. */
  reason: string;
  /** It is backed up under a new name, so nothing is lost. */
  isRenamed: boolean;
}

interface MissingOptions {
  /** The repositories that have an archive. */
  tracked: readonly TrackedRepository[];
  archiveFolder: string;
  hostUrl: string;
  /** Full names that were listed, in lower case. */
  listed: ReadonlySet<string>;
  /** Canonical addresses of the listed repositories. Some of their archives have other names. */
  addresses: ReadonlySet<string>;
  /** Throws like `lookUpRepository`. */
  lookUp(fullName: string): Promise<LookUp>;
}

/** The repositories that have an archive from a git host, according to its note. */
export async function listArchivedFrom(
  hostUrl: string,
  archiveFolder: string,
  tracked: readonly TrackedRepository[],
): Promise<string[]> {
  const names: string[] = [];
  for (const { repository, archiveKey: key } of tracked) {
    if (key !== archiveKey(repository)) continue;
    const record = await readArchiveRecord(archiveFolder, key);
    if (record?.host === hostUrl) names.push(repository);
  }
  return names;
}

/**
 * Finds repositories that have an archive from this host (according to its note) but are no longer listed, and
 * why. Their archives are kept.
 */
export async function findMissingRepositories(
  options: MissingOptions,
): Promise<MissingRepository[]> {
  const { tracked, archiveFolder, hostUrl, listed, addresses, lookUp } = options;
  const missing: MissingRepository[] = [];
  for (const { repository, archiveKey: key } of tracked) {
    if (listed.has(repository.toLowerCase()) || key !== archiveKey(repository)) continue;
    const record = await readArchiveRecord(archiveFolder, key);
    if (record?.host !== hostUrl) continue;
    if (record.address !== null && addresses.has(canonicalAddress(record.address))) continue;
    const found = await lookUp(repository);
    const why =
      describeAccess(found, repository) ??
      'access lost: the repository exists, but discovery no longer finds it';
    const name = found.state === 'there' ? found.repository.full_name.toLowerCase() : null;
    const isOther = name !== null && name !== repository.toLowerCase();
    const isRenamed = isOther && listed.has(name);
    const now = isRenamed
      ? ' and is backed up under that name'
      : isOther
        ? ', which discovery does not find'
        : '';
    const argument = shellQuote(cleanText(repository, MAX_REPOSITORY_LENGTH));
    const kept = `its archive ${key} is kept. If it was removed on purpose: npm run worker -- forget ${argument}`;
    missing.push({ repository, isRenamed, reason: `${why}${now}; ${kept}` });
  }
  return missing;
}
