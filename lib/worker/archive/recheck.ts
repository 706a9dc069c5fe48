import { readdir } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import {
  type ArchiveRecord,
  bundlesOf,
  findBadFile,
  type KeptArchive,
  readArchiveOnDisk,
  withTimes,
} from './archive.ts';
import { dateManifest, findManifest } from './manifests.ts';
import { settleNote } from './publish.ts';

/** An archive that was checked within this time is not due yet. */
const FRESH_MS = 20 * 60 * 60_000;

interface RecheckOptions {
  archiveFolder: string;
  /** Archives that lack a file. Only their manifests are checked, whatever the budget. */
  suspects: readonly string[];
  budgetMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Throws if another worker may own the archives by now. */
  checkLease(): Promise<void>;
}

/** What a check of archives found. */
export interface Recheck {
  checked: number;
  /** What is wrong with archives that have a missing or changed file, by archive file name. */
  damaged: Map<string, string>;
  /** The same for a missing or altered manifest, which cannot be written again. */
  altered: Map<string, string>;
}

/**
 * Rereads archives, the least recently checked first, and compares each file's SHA-256 with the note: a file can
 * change while its size and time stay the same. Stops when the budget is used up.
 */
export async function recheckArchives(options: RecheckOptions): Promise<Recheck> {
  const { archiveFolder, suspects, budgetMs, clock, signal } = options;
  const found: Recheck = { checked: 0, damaged: new Map(), altered: new Map() };
  const end = clock.now() + budgetMs;
  const due = await listDue(archiveFolder, new Set(suspects), clock.now());
  if (due.length + suspects.length === 0) return found;
  const scratch = await makeScratch(archiveFolder);
  try {
    for (const key of suspects) {
      const { record, files } = await readArchiveOnDisk(archiveFolder, key);
      if (record === null || files.length === 0) continue;
      const altered = await checkManifests(options, { key, record, scratch });
      if (altered !== null) found.altered.set(key, altered);
    }
    for (const { key, record } of due) {
      if (clock.now() >= end) break;
      signal.throwIfAborted();
      const fault = await findFault(archiveFolder, { key, record });
      const altered = await checkManifests(options, { key, record, scratch });
      found.checked++;
      if (fault !== null) found.damaged.set(key, fault);
      if (altered !== null) found.altered.set(key, altered);
      if (fault === null && altered === null) {
        const checked_at = new Date(clock.now()).toISOString();
        const place = { folder: archiveFolder, key, scratch, checkLease: options.checkLease };
        const timed = await withTimes(archiveFolder, key, record);
        await settleNote(place, { ...timed, checked_at });
      }
    }
  } finally {
    await removeScratch(scratch);
  }
  return found;
}

/** The archives that are due for a check: first those whose files have other times or sizes, then by their last check. */
async function listDue(
  folder: string,
  suspects: ReadonlySet<string>,
  now: number,
): Promise<KeptArchive[]> {
  const due: (KeptArchive & { checkedAt: number })[] = [];
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.bundle.json')) continue;
    const key = name.slice(0, -'.json'.length);
    if (suspects.has(key)) continue;
    const { record, files, isSettled } = await readArchiveOnDisk(folder, key);
    // An archive that is being replaced is read back once it is written.
    if (record === null || files.length === 0 || record.replacing !== null) continue;
    const checkedAt = isSettled ? timeOf(record, now) : Number.NEGATIVE_INFINITY;
    if (checkedAt <= now - FRESH_MS) due.push({ key, record, checkedAt });
  }
  return due.sort((one, other) => (one.checkedAt < other.checkedAt ? -1 : 1));
}

/** When an archive was last checked. A time in the future, from a wrong clock, counts as never. */
function timeOf({ checked_at }: ArchiveRecord, now: number): number {
  const time = checked_at === null ? 0 : Date.parse(checked_at);
  return time > now ? 0 : time;
}

/**
 * Says which version cannot be restored because its manifest is missing or altered; null if none. The archive is then
 * checked in every run until the manifest is put back.
 */
export async function checkManifests(
  { archiveFolder: folder, checkLease }: Pick<RecheckOptions, 'archiveFolder' | 'checkLease'>,
  { key, record, scratch }: KeptArchive & { scratch: string },
): Promise<string | null> {
  const altered = await findAltered(folder, key, record);
  if (altered !== null && record.checked_at !== null) {
    await settleNote({ folder, key, scratch, checkLease }, { ...record, checked_at: null });
  }
  return altered;
}

async function findAltered(
  folder: string,
  key: string,
  { versions }: ArchiveRecord,
): Promise<string | null> {
  for (const entry of versions) {
    if ((await findManifest(folder, key, entry)) !== null) await dateManifest(folder, key, entry);
    else {
      return `the manifest of version ${entry.version} is missing or was altered, so it cannot be restored: put the file back, or move the archive away`;
    }
  }
  return null;
}

/** Says which file is missing or changed; null if none is. */
async function findFault(folder: string, archive: KeptArchive): Promise<string | null> {
  const bad = await findBadFile(folder, bundlesOf(archive));
  return bad && `${bad.name} ${bad.isMissing ? 'is missing' : 'was changed since it was written'}`;
}
