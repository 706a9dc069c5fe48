import { NoArchive } from '../archives/archive-fault.ts';
import { AppError } from '../errors.ts';
import { cleanText } from '../text/clean-text.ts';
import type { BackupSource } from './backup-source.ts';
import { didYouMean, MAX_NAMES_COMPARED, nearNames } from './near-names.ts';

/** Most characters of a name that an error repeats. */
const MAX_NAME_CHARS = 100;
/** Repositories on one page of the service API. */
const PAGE_SIZE = 500;

/** The names of tracked repositories, at most 2,000. */
export async function readTrackedNames(
  backups: BackupSource,
  signal: AbortSignal,
): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; names.length < MAX_NAMES_COMPARED; page++) {
    const { data, pagination } = await backups.listRepositories({ page, limit: PAGE_SIZE }, signal);
    names.push(...data.map(({ full_name }) => full_name));
    if (page >= pagination.total_pages) break;
  }
  return names;
}

/**
 * What to say about a repository that is not tracked: the nearest names, and the tool that lists them.
 * Null for one that is tracked, in any letter case.
 */
export function explainUnknown(name: string, tracked: readonly string[]): string | null {
  const wanted = name.toLowerCase();
  if (tracked.some((known) => known.toLowerCase() === wanted)) return null;
  return describeUnknown(name, tracked);
}

/** The same for a name that has to be exact: one in another letter case is unknown too. */
export function describeUnknown(name: string, tracked: readonly string[]): string {
  const quoted = JSON.stringify(cleanText(name, MAX_NAME_CHARS));
  const near = didYouMean(nearNames(name, tracked));
  return `no repository ${quoted} is tracked${near || ';'} list_tracked_repositories lists those that are`;
}

/** Reads of an archive; where there is none because the name is unknown, the error names the nearest. */
export async function withKnownName<Answer>(
  name: string,
  backups: BackupSource,
  signal: AbortSignal,
  read: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof NoArchive)) throw error;
    const hint = explainUnknown(name, await readTrackedNames(backups, signal));
    if (hint === null) {
      const message = `${error.message}: it may not be backed up yet; list_tracked_repositories shows its newest result`;
      throw new AppError('NOT_FOUND', message);
    }
    throw new AppError('NOT_FOUND', `${error.message}: ${hint}`);
  }
}

/** What to say about a run that does not exist. */
export function noSuchRun(id: number): string {
  return `backup run ${id} does not exist: list_backup_runs shows which do`;
}
