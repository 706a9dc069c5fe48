import { orSayWhyNone } from '../archives/base/archive-fault.ts';
import { isSameRepository } from '../archives/base/archive-name.ts';
import { cleanText } from '../text/clean-text.ts';
import { nearestWords } from '../text/nearest.ts';
import type { BackupSource, TrackedRepository } from './backup-source.ts';

/** Maximum number of names that are suggested. */
const MAX_SUGGESTED = 3;
/** Maximum number of tracked names that are compared. */
export const MAX_NAMES_COMPARED = 2_000;
/** Maximum characters of a suggested name, and of the unknown name in an error. */
const MAX_SUGGESTED_CHARS = 255;
const MAX_UNKNOWN_CHARS = 100;
/** The largest page of the service API. */
const PAGE_SIZE = 500;

/** Returns the names of tracked repositories, at most 2,000. */
export async function readTrackedNames(
  backups: BackupSource,
  signal: AbortSignal,
): Promise<string[]> {
  return (await readTracked(backups, signal)).map(({ full_name }) => full_name);
}

async function readTracked(
  backups: BackupSource,
  signal: AbortSignal,
): Promise<TrackedRepository[]> {
  const tracked: TrackedRepository[] = [];
  for (let page = 1; tracked.length < MAX_NAMES_COMPARED; page++) {
    const { data, pagination } = await backups.listRepositories({ page, limit: PAGE_SIZE }, signal);
    tracked.push(...data);
    if (page >= pagination.total_pages) break;
  }
  return tracked;
}

/**
 * Returns up to three known names close to an unknown one: first names that differ only in letter case, then
 * the same name under another owner, then names a few edits away.
 */
export function nearNames(asked: string, names: readonly string[]): string[] {
  const byLower = new Map(
    names.slice(0, MAX_NAMES_COMPARED).map((name) => [name.toLowerCase(), name]),
  );
  const wanted = asked.trim().toLowerCase();
  const known = [...byLower.keys()];
  const near = [
    ...known.filter((name) => name === wanted),
    ...known.filter((name) => baseName(name) === baseName(wanted)),
    ...nearestWords(wanted, known, MAX_SUGGESTED),
  ];
  return [...new Set(near)]
    .slice(0, MAX_SUGGESTED)
    .map((name) => cleanText(byLower.get(name) ?? name, MAX_SUGGESTED_CHARS));
}

/** Ends a sentence with suggestions, `; did you mean a/b or a/c?`; empty without suggestions. */
export function didYouMean(near: readonly string[]): string {
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

function baseName(name: string): string {
  return name.split('/').at(-1) ?? '';
}

/**
 * Describes a repository that is not tracked: close names, and the tool that lists all. Null if it is
 * tracked, in any letter case.
 */
export function explainUnknown(name: string, tracked: readonly string[]): string | null {
  const wanted = name.toLowerCase();
  if (tracked.some((known) => known.toLowerCase() === wanted)) return null;
  return describeUnknown(name, tracked);
}

/** The same for a name that must match exactly, including letter case. */
export function describeUnknown(name: string, tracked: readonly string[]): string {
  const quoted = JSON.stringify(cleanText(name, MAX_UNKNOWN_CHARS));
  const near = didYouMean(nearNames(name, tracked));
  return `no repository ${quoted} is tracked${near || ';'} list_tracked_repositories lists those that are`;
}

/** Reads an archive. If there is none because the name is unknown, the error suggests close names. */
export function withKnownName<Answer>(
  name: string,
  backups: BackupSource,
  signal: AbortSignal,
  read: () => Promise<Answer>,
): Promise<Answer> {
  return orSayWhyNone(read, async () => {
    const tracked = await readTracked(backups, signal);
    const names = tracked.map(({ full_name }) => full_name);
    const asked = tracked.find(({ full_name }) => isSameRepository(full_name, name));
    return explainUnknown(name, names) ?? explainWithout(asked);
  });
}

/** Why a tracked repository has no archive. */
function explainWithout(tracked: TrackedRepository | undefined): string {
  return tracked?.last_status === 'empty'
    ? `its source was empty when it was last read, at ${tracked.last_checked_at ?? tracked.last_backed_up}, so there is nothing to restore`
    : 'it may not be backed up yet; list_tracked_repositories shows its newest result';
}

/** The error message for a run that does not exist. */
export function noSuchRun(id: number): string {
  return `backup run ${id} does not exist: list_backup_runs shows which do`;
}
