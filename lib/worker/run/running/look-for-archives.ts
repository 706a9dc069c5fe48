import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { manifestFolder, manifestName } from '../../../archives/base/manifest.ts';
import { orAborted } from '../../../async.ts';
import { nullIfMissing } from '../../../files.ts';
import { stallMsOf } from '../../../git/git.ts';
import {
  type ArchiveLook,
  type ExpectedArchive,
  listExpected,
  recordLooks,
} from '../../../records/recording/archive-looks.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { shellQuote } from '../../../text/shell-quote.ts';
import { counted, firstOf } from '../../../text/units.ts';
import { readArchiveState } from '../../archive/archive.ts';
import { orHangs } from '../../base/answering-folder.ts';
import { RunStopped } from '../../base/stop.ts';
import type { RunContext } from '../schedule/run-deps.ts';

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
  signal,
  hostName,
  mayStartOver,
  environment,
  clock,
}: RunContext): Promise<LostArchive[]> {
  const { store } = journal;
  const recorded = await store.read(
    (db) => listExpected(db, store.machine),
    () => [],
  );
  // The workers of a shared run have one archive folder.
  const isHere = ({ isElsewhere }: ExpectedArchive) => !isElsewhere || hostName !== null;
  const bound = { folder: archiveFolder, ms: stallMsOf(environment), clock };
  const { names, missing } = await orAborted(signal, () => lookIn(bound, recorded));
  const looks: ArchiveLook[] = [];
  const lost: LostArchive[] = [];
  for (const one of recorded) {
    const found = missing.get(one.archiveKey) ?? null;
    if (found !== null && !isHere(one)) continue;
    const { repository, archiveKey } = one;
    looks.push({ repository, archiveKey, missing: found });
    if (found !== null && !one.isKnownLoss) lost.push({ ...one, reason: describe(found, one) });
  }
  const isEmpty = !names.some((name) => /\.(?:bundle|bundle\.json|versions)$/.test(name));
  const isUnmounted = isEmpty && lost.length > 1;
  const text = `the archive folder ${archiveFolder} has none of its ${lost.length} archives: is its disk mounted, and BACKUP_ARCHIVE_PATH right?`;
  if (isUnmounted) for (const look of looks) look.missing &&= text;
  await store.read(
    (db) => recordLooks(db, store.machine, looks),
    () => undefined,
  );
  if (isUnmounted && !mayStartOver) {
    throw new RunStopped(
      `${text} Nothing was backed up. If the archives are gone for good, run with --new-folder`,
    );
  }
  await tell(journal, lost);
  return lost;
}

async function tell({ note }: RunContext['journal'], lost: readonly LostArchive[]): Promise<void> {
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
  return `${what}; ${firstOf(copies)} has a copy: npm run worker -- restore ${arguments_} --to FOLDER`;
}

/** The names in the folder, and what is missing of each archive that is not whole, by its file name. */
async function lookIn(
  bound: Parameters<typeof orHangs>[0],
  expected: readonly ExpectedArchive[],
): Promise<{ names: string[]; missing: Map<string, string> }> {
  const { folder } = bound;
  const names = await orHangs(bound, readdir(folder));
  const there = new Set(names);
  const limit = pLimit(AT_ONCE);
  const missing = new Map<string, string>();
  const look = async (key: string) => {
    const found = there.has(key)
      ? await orHangs(bound, findMissing(folder, key, there))
      : `${key} is missing`;
    if (found !== null) missing.set(key, found);
  };
  await Promise.all(expected.map(({ archiveKey }) => limit(look, archiveKey)));
  return { names, missing };
}

/** Says which file the newest version of an archive needs that is missing or cut off; null if none. */
export async function findMissing(
  folder: string,
  key: string,
  there: ReadonlySet<string>,
): Promise<string | null> {
  const { record, files, versions } = await readArchiveState(folder, key);
  const [bundle, ...increments] = files;
  if (bundle === undefined) return `${key} is missing`;
  if (bundle.sizeBytes === 0) return `${key} is empty`;
  const sizes = [record?.archive_size_bytes, record?.replacing?.size_bytes ?? undefined];
  if (record !== null && !sizes.includes(bundle.sizeBytes)) return `${key} has another size`;
  for (const { name, sizeBytes } of increments) {
    if (!there.has(name)) return `${name} is missing`;
    const size = (await nullIfMissing(stat(join(folder, name))))?.size;
    if (size !== sizeBytes) return `${name} has another size`;
  }
  const newest = versions.at(-1);
  if (newest === undefined) return null;
  const manifest = join(manifestFolder(key), manifestName(newest.version));
  return (await nullIfMissing(stat(join(folder, manifest)))) === null
    ? `${manifest} is missing`
    : null;
}
