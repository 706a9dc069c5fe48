import { readdir } from 'node:fs/promises';
import pLimit from 'p-limit';
import { archiveKey } from '../../archives/base/archive-name.ts';
import {
  type ArchiveLook,
  type ExpectedArchive,
  listExpected,
  type MissingFile,
  recordLooks,
} from '../../records/recording/archive-looks.ts';
import { listTracked } from '../../records/recording/repo-state.ts';
import { cleanText } from '../../text/clean-text.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { counted, firstOf } from '../../text/units.ts';
import { findMissingFile } from '../archive/find-missing.ts';
import { type Recheck, recheckArchives } from '../archive/recheck.ts';
import type { Source } from '../base/source.ts';
import { RunStopped } from '../base/stop.ts';
import type { Journal } from '../record/journal.ts';
import type { RunContext, RunProgress } from './run-deps.ts';

/** How many archives are looked for at once. */
const AT_ONCE = 32;
/** More lost archives than this are logged in one line. */
const MAX_LINES = 20;

/** An archive that was recorded and is not in the archive folder. */
export interface LostArchive extends ExpectedArchive {
  /** What is missing, and where a copy is, for people. */
  reason: string;
}

/**
 * Looks for every recorded archive, also those of lost, excluded and forgotten repositories, and records what is
 * missing. Reads the notes and the sizes of files, but no archive. Without the database it is unknown what was recorded.
 * Throws RunStopped if the folder has none of several archives: its disk is probably not mounted, and a run would write
 * all of them again elsewhere.
 */
export async function lookForArchives({
  journal,
  archiveFolder,
  hostName,
  mayStartOver,
}: RunContext): Promise<LostArchive[]> {
  const { store } = journal;
  const recorded = await store.read(
    (db) => listExpected(db, store.machine),
    () => [],
  );
  // The workers of a shared run have one archive folder.
  const isHere = ({ isElsewhere }: ExpectedArchive) => !isElsewhere || hostName !== null;
  const { names, missing } = await lookIn(archiveFolder, recorded);
  const looks: ArchiveLook[] = [];
  const lost: LostArchive[] = [];
  for (const one of recorded) {
    const found = missing.get(one.archiveKey) ?? null;
    if (found !== null && !isHere(one)) continue;
    const { repository, archiveKey } = one;
    looks.push({ repository, archiveKey, missing: found });
    if (found !== null && !one.isKnownLoss)
      lost.push({ ...one, reason: describe(found.text, one) });
  }
  const isEmpty = !names.some((name) => /\.(?:bundle|bundle\.json|versions)$/.test(name));
  const isUnmounted = isEmpty && lost.length > 1;
  const text = `the archive folder ${archiveFolder} has none of its ${lost.length} archives: is its disk mounted, and BACKUP_ARCHIVE_PATH right?`;
  if (isUnmounted) for (const look of looks) look.missing &&= { kind: 'folder', text };
  await store.read(
    (db) => recordLooks(db, store.machine, looks),
    () => undefined,
  );
  if (isUnmounted && !mayStartOver) {
    throw new RunStopped(
      `${text} Nothing was backed up. If the archives are gone for good, run with --new-folder`,
      { fault: 'no_archives' },
    );
  }
  await noteLost(journal, lost);
  return lost;
}

async function noteLost({ note }: Journal, lost: readonly LostArchive[]): Promise<void> {
  if (lost.length > MAX_LINES) {
    const names = firstOf(lost.map(({ repository }) => repository));
    return note('error', `${counted(lost.length, 'archive')} are not whole or gone: ${names}`);
  }
  for (const { repository, reason } of lost) await note('error', reason, repository);
}

function describe(missing: string, { copies, repository }: ExpectedArchive): string {
  const what = `the archive is gone or not whole: ${missing} in the archive folder`;
  const [store] = copies;
  if (store === undefined) return `${what}, and no store has a copy`;
  const arguments_ = `${shellQuote(cleanText(repository, 250))} --from ${shellQuote(store)}`;
  const have = copies.length === 1 ? 'has' : 'have';
  return `${what}; ${firstOf(copies)} ${have} a copy: npm run worker -- restore ${arguments_} --to FOLDER`;
}

/** The names in the folder, and what is missing of each archive that is not whole, by its file name. */
async function lookIn(
  folder: string,
  expected: readonly ExpectedArchive[],
): Promise<{ names: string[]; missing: Map<string, MissingFile> }> {
  const names = await readdir(folder);
  const there = new Set(names);
  const limit = pLimit(AT_ONCE);
  const missing = new Map<string, MissingFile>();
  const look = async (one: ExpectedArchive) => {
    const found = await findMissingFile(folder, one, there);
    if (found !== null) missing.set(one.archiveKey, found);
  };
  await Promise.all(expected.map((one) => limit(look, one)));
  return { names, missing };
}

/**
 * Rereads the archives that have gone unchecked the longest. Damage to a source's archive is repaired or reported by
 * its backup; for other archives a failure is recorded.
 */
export async function recheck(
  deps: RunContext,
  sources: readonly Source[],
  lost: readonly LostArchive[],
  progress: RunProgress,
): Promise<Recheck> {
  const { journal, recheckBudgetMs: budgetMs } = deps;
  const suspects = lost.map(({ archiveKey: key }) => key);
  const found = await recheckArchives({ ...deps, suspects, budgetMs });
  const { checked, damaged, altered } = found;
  if (checked > 0) {
    const bad = new Set([...damaged.keys(), ...altered.keys()]).size;
    await journal.note('info', `${counted(checked, 'archive')} reread, ${bad} damaged`);
  }
  if (damaged.size + altered.size === 0) return found;
  const names = new Map(sources.map(({ name }) => [archiveKey(name), name]));
  const tracked = await journal.store.read(listTracked, () => []);
  const owners = new Map(tracked.map((one) => [one.archiveKey, one.repository]));
  for (const [key, fault] of [...damaged, ...altered]) {
    const repository = names.get(key) ?? owners.get(key);
    // What is missing was told when it was looked for.
    if (suspects.includes(key)) continue;
    await journal.note('error', `the archive is damaged: ${fault}`, repository);
    if (names.has(key) || repository === undefined) continue;
    const errorMessage = `the archive is damaged: ${fault}`;
    await tellFailed(journal, repository, errorMessage);
    progress.failures.push({ repository, kind: 'archive', errorMessage });
  }
  return found;
}

/** A lost archive is a failure even if the run does not back up its repository. */
export async function recordLost(
  { journal }: RunContext,
  lost: readonly LostArchive[],
  progress: RunProgress,
): Promise<void> {
  const covered = new Set(progress.sources.map(({ name }) => archiveKey(name)));
  for (const { repository, archiveKey: key, isForgotten, reason } of lost) {
    if (covered.has(key)) continue;
    progress.failures.push({ repository, kind: 'archive', errorMessage: reason });
    progress.lost++;
    // A result would track it again.
    if (isForgotten) continue;
    await tellFailed(journal, repository, cleanText(reason));
  }
}

/** Tells the failure of a repository whose archive is lost or damaged. */
function tellFailed(journal: Journal, repository: string, errorMessage: string): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, durationMs: 0, archive: null };
  const failed = { ...none, status: 'failed', fault: 'archive' } as const;
  return journal.tell({ type: 'result', ...failed, repository, errorMessage });
}
