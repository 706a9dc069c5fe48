import { cleanText } from '../../platform/clean-text.ts';
import type { Database } from '../../platform/database/database.ts';
import { listTracked } from '../../records/recording/tracked.ts';
import { archiveKey, readArchiveRecord } from '../archive.ts';
import { accessFaults, type LookUp } from './look-up.ts';

/** A repository that was backed up from this host and is not listed any more. */
export interface MissingRepository {
  repository: string;
  /** What became of it, in words. */
  reason: string;
  /** It is backed up under its new name: nothing is lost, so that it is no result. */
  isRenamed: boolean;
}

export interface MissingOptions {
  db: Database;
  archiveFolder: string;
  hostUrl: string;
  /** Full names that were listed, in lower case. */
  listed: ReadonlySet<string>;
  /** Throws what the host's API does not answer. */
  lookUp(fullName: string): Promise<LookUp>;
}

/**
 * Finds out what became of repositories whose archive came from this host, by its note, and that are
 * not listed any more. Their archives are kept: to have one forgotten, move its archive away.
 */
export async function findMissing(options: MissingOptions): Promise<MissingRepository[]> {
  const { db, archiveFolder, hostUrl, listed, lookUp } = options;
  const missing: MissingRepository[] = [];
  for (const { repository, archiveKey: key } of await listTracked(db)) {
    if (listed.has(repository.toLowerCase()) || key !== archiveKey(repository)) continue;
    const record = await readArchiveRecord(archiveFolder, key);
    if (record?.host !== hostUrl) continue;
    missing.push({ repository, ...describe(await lookUp(repository), repository, key, listed) });
  }
  return missing;
}

function describe(
  found: LookUp,
  repository: string,
  key: string,
  listed: ReadonlySet<string>,
): Omit<MissingRepository, 'repository'> {
  const kept = `its archive ${key} is kept (move it away to have the repository forgotten)`;
  if (found.state === 'disabled') {
    return { reason: `${accessFaults.disabled}; ${kept}`, isRenamed: false };
  }
  if (found.state === 'hidden') {
    return { reason: `${accessFaults.hidden(found.status)}; ${kept}`, isRenamed: false };
  }
  const name = found.repository.full_name;
  if (name.toLowerCase() === repository.toLowerCase()) {
    return { reason: `${accessFaults.unlisted}; ${kept}`, isRenamed: false };
  }
  const renamed = accessFaults.renamed(cleanText(name, 250));
  const isListed = listed.has(name.toLowerCase());
  return isListed
    ? { reason: `${renamed} and is backed up as that; ${kept}`, isRenamed: true }
    : { reason: `${renamed}, which discovery does not find; ${kept}`, isRenamed: false };
}
