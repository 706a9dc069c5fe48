import { readdir } from 'node:fs/promises';
import { ArchiveFault, joinNames } from '../archives/base/archive-fault.ts';
import {
  archiveKey,
  continuedBy,
  isFileOf,
  isSetAsideOf,
  nameBefore,
  setAsideName,
  setAsideRepository,
} from '../archives/base/archive-name.ts';
import type { FindRecord } from '../archives/base/archive-owner.ts';
import { noteName, shownSource, type VersionEntry } from '../archives/base/note.ts';
import {
  type FoundArchive,
  type OpenArchive,
  openArchive,
  openFound,
} from '../archives/base/open-archive.ts';
import { readManifest } from '../archives/chain/read-manifests.ts';
import { AppError } from '../errors.ts';
import { cleanName } from '../text/clean-text.ts';
import { shellQuote } from '../text/shell-quote.ts';

/** An archive in the folder. */
export interface RestorableArchive {
  /**
   * `owner/name`, or the name of an old tar.gz; `owner/name@damaged-<time>` if it was set aside. Null if nothing says
   * whose it is.
   */
  repository: string | null;
  /** The repositories that it may be of, if nothing says of which; else none. */
  candidates: readonly string[];
  archive: string;
  /** Where the repository was read, without credentials; null if its note does not say. */
  source: string | null;
  /** Whether another name is looked for when this repository is restored: somebody has renamed the file. */
  is_misnamed: boolean;
  /** Whether it was damaged and replaced by a new archive. Its intact versions can be restored. */
  is_set_aside: boolean;
  format: OpenArchive['format'];
  /** At least 1: an archive from an earlier release is a version without a number. */
  versions: number;
  /** When the newest version was made, as ISO 8601 in UTC. */
  newest: string;
  /** The total size of its files. */
  size_bytes: number;
  /** Why not all of it can be restored, as far as that shows without reading the archive; null if nothing shows. */
  fault: string | null;
}

/** A version that can be restored. */
export interface ListedVersion extends Pick<VersionEntry, 'at' | 'warning'> {
  /** Null for an archive from an earlier release, as are the run and the number of refs. */
  version: number | null;
  run_id: number | null;
  ref_count: number | null;
  /** The files it needs, in order. */
  files: string[];
  size_bytes: number;
  /** Which of its files is missing or was changed, as far as that shows without reading the archive; null if none. */
  fault: string | null;
}

/** Describes every archive in a folder, sorted by file name with set-aside archives last. Throws AppError. */
export async function listArchives(root: string): Promise<RestorableArchive[]> {
  const listed: RestorableArchive[] = [];
  for await (const [archive, found] of eachArchive(root)) {
    const versions = await versionsOf(archive);
    listed.push({
      ...found,
      source: shownSource(archive.note),
      format: archive.format,
      versions: versions.length,
      newest: versions.at(-1)?.at ?? '',
      size_bytes: sizeOf(archive),
      fault: describeFaults(versions),
    });
  }
  return listed.sort((one, other) => Number(one.is_set_aside) - Number(other.is_set_aside));
}

/** The versions of a repository, oldest first, and the names of its archives that were set aside. Throws AppError. */
export async function listRestorableVersions(
  root: string,
  repository: string,
  findRecord?: FindRecord,
): Promise<{
  archive: string;
  source: string | null;
  versions: ListedVersion[];
  set_aside: string[];
}> {
  const names = await readNames(root);
  const archive = await openArchive(root, repository, null, findRecord);
  try {
    const owner = archive.repository ?? repository;
    return {
      archive: archive.name,
      source: shownSource(archive.note),
      versions: await versionsOf(archive),
      set_aside: names
        .filter((name) => isSetAsideOf(name, archive.name))
        .map((name) => setAsideRepository(owner, name))
        .sort(),
    };
  } finally {
    await archive.close();
  }
}

/** The repositories in an archive folder, and the archives that cannot be restored by name. Throws AppError. */
export async function listRestorableRepositories(
  root: string,
): Promise<{ repositories: string[]; others: NamedArchive[] }> {
  const repositories: string[] = [];
  const others: NamedArchive[] = [];
  for await (const [, found] of eachArchive(root)) {
    if (found.is_set_aside) continue;
    if (found.repository === null || found.is_misnamed) others.push(found);
    else repositories.push(found.repository);
  }
  return { repositories, others };
}

/** Whose an archive of the folder is. */
export type NamedArchive = Pick<
  RestorableArchive,
  'repository' | 'candidates' | 'archive' | 'is_misnamed' | 'is_set_aside'
>;

/** Why an archive cannot be restored by the name of its repository, and what to do. */
export function describeUnnamed({ archive, repository, candidates }: NamedArchive): string {
  const byHand = `\`git clone ${shellQuote(archive)}\` restores it`;
  if (repository !== null) {
    const name = cleanName(repository);
    return `${archive} is the archive of ${name}: give it its old name, ${archiveKey(repository)}, and its other files too; ${byHand}`;
  }
  const may = candidates.length === 0 ? '' : `may be of ${joinNames(candidates)}, and `;
  return `${archive}: ${may}nothing says whose archive it is; ${byHand}`;
}

/** Opens one archive of the folder after the other. */
async function* eachArchive(root: string): AsyncGenerator<[OpenArchive, NamedArchive]> {
  const names = await readNames(root);
  const all = new Set(names);
  const aside = new Set(names.map(nameBefore));
  // A bundle takes precedence over a tar.gz of the same name.
  const isTarball = (name: string) =>
    name.endsWith('.tar.gz') && !all.has(name.replace(/\.tar\.gz$/, '.bundle'));
  const isIncrement = (name: string) => {
    const base = continuedBy(name);
    if (base === null || all.has(noteName(name))) return false;
    return all.has(base) || aside.has(nameBefore(setAsideName(base, 0)));
  };
  for (const name of names.sort()) {
    const isAside = nameBefore(name) !== null;
    const isBundle = name.endsWith('.bundle') && !isIncrement(name);
    if (!isAside && !isBundle && !isTarball(name)) continue;
    const found = await openFound(root, name);
    if (found === null) continue;
    try {
      const named = describeOwner(found, isAside);
      if (named !== null) yield [found.archive, named];
    } finally {
      await found.archive.close();
    }
  }
}

/** Null for a file that is none of ours. */
function describeOwner(
  { archive: { name: archive, note }, owner }: FoundArchive,
  isAside: boolean,
): NamedArchive | null {
  const facts = { archive, is_set_aside: isAside, is_misnamed: false, candidates: [] };
  if ('repository' in owner) {
    const { repository } = owner;
    const shown = isAside ? setAsideRepository(repository, archive) : repository;
    return { ...facts, repository: shown, is_misnamed: !isFileOf(repository, archive) };
  }
  const { candidates } = owner;
  if (candidates.length > 0 || note !== null) return { ...facts, repository: null, candidates };
  // An old one without an owner in its name.
  const isOld = archive.endsWith('.tar.gz');
  return isOld ? { ...facts, repository: archive.slice(0, -'.tar.gz'.length) } : null;
}

async function readNames(root: string): Promise<string[]> {
  try {
    return await readdir(root);
  } catch (error) {
    const reason = `the archive folder ${root} is missing or unreadable: is its disk mounted, and BACKUP_ARCHIVE_PATH right?`;
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

/** Sums up what is wrong with an archive; null if nothing is. */
function describeFaults(versions: readonly ListedVersion[]): string | null {
  const faulty = versions.filter(({ fault }) => fault !== null);
  const fault = faulty.at(-1)?.fault ?? null;
  if (fault === null || versions.length === 1) return fault;
  return `${faulty.length} of ${versions.length} versions cannot be restored: ${fault}`;
}

async function versionsOf(archive: OpenArchive): Promise<ListedVersion[]> {
  const { name, noted, modifiedAt, sizeBytes, increments } = archive;
  const at = new Date(modifiedAt).toISOString();
  const only = { at, run_id: null, ref_count: null, warning: null };
  if (noted === null || noted.versions.length === 0) {
    const fault = await findLostNote(archive);
    return [{ ...only, version: null, files: [name], size_bytes: sizeBytes, fault }];
  }
  const listed: ListedVersion[] = [];
  for (const entry of noted.versions) {
    const { version, at, run_id, ref_count, warning, files } = entry;
    const needed = increments.slice(0, files - 1);
    const size = needed.reduce((sum, one) => sum + one.sizeBytes, sizeBytes);
    const names = [name, ...needed.map((one) => one.name)];
    const fault = await findFault(archive, entry);
    listed.push({ version, at, run_id, ref_count, warning, files: names, size_bytes: size, fault });
  }
  return listed;
}

/** Says that the note of an archive with manifests is gone: without it, nothing says which versions there are. */
async function findLostNote({
  name,
  note,
  manifests,
  listBeside,
}: OpenArchive): Promise<string | null> {
  if (note !== null || (await listBeside(manifests)).length === 0) return null;
  return `${noteName(name)} is missing or not valid, so its versions are unknown until a run writes it again`;
}

/** Says which file of a version is missing, has another size, or is another manifest; null if none. */
async function findFault(archive: OpenArchive, entry: VersionEntry): Promise<string | null> {
  const { name, note, noted, sizeBytes, increments } = archive;
  const { replacing, archive_size_bytes } = note ?? {};
  const size = noted?.isReplaced ? replacing?.size_bytes : archive_size_bytes;
  if (typeof size === 'number' && size !== sizeBytes) return `${name} has another size`;
  for (const { name, file, sizeBytes } of increments.slice(0, entry.files - 1)) {
    if (file === null) return `${name} is missing`;
    if (file.sizeBytes !== sizeBytes) return `${name} has another size`;
  }
  try {
    await readManifest(archive, entry);
    return null;
  } catch (error) {
    if (error instanceof ArchiveFault) return error.reason;
    throw error;
  }
}

function sizeOf({ sizeBytes, increments }: OpenArchive): number {
  return increments.reduce((sum, one) => sum + one.sizeBytes, sizeBytes);
}
