import { readdir } from 'node:fs/promises';
import type { VersionEntry } from '../archives/note.ts';
import { type OpenArchive, openArchive } from '../archives/open-archive.ts';
import { nameBefore, setAsideRepository } from '../archives/set-aside.ts';
import { AppError } from '../errors.ts';

/** An archive in the folder. */
export interface ListedArchive {
  /** `owner/name` in lower case, or the name of an old tar.gz; `owner/name@damaged-<time>` if it was set aside. */
  repository: string;
  archive: string;
  /** Whether it was damaged and replaced by a new archive. Its intact versions can be restored. */
  is_set_aside: boolean;
  format: OpenArchive['format'];
  /** At least 1: an archive from an earlier release is a version without a number. */
  versions: number;
  /** When the newest version was made, as ISO 8601 in UTC. */
  newest: string;
  /** The total size of its files. */
  size_bytes: number;
}

/** A version that can be restored. */
interface ListedVersion extends Pick<VersionEntry, 'at' | 'warning'> {
  /** Null for an archive from an earlier release, as are the run and the number of refs. */
  version: number | null;
  run_id: number | null;
  ref_count: number | null;
  /** The files it needs, in order. */
  files: string[];
  size_bytes: number;
}

/** Describes every archive in a folder, sorted by name with set-aside archives last. Throws AppError. */
export async function listArchives(root: string): Promise<ListedArchive[]> {
  const listed: ListedArchive[] = [];
  const names = await readNames(root);
  for (const repository of [...repositoriesOf(names), ...setAsideOf(names)]) {
    try {
      listed.push(await withArchive(root, repository, describe));
    } catch (error) {
      // A folder, or a name that no archive can have.
      if (!(error instanceof AppError) || !isNoArchive(error)) throw error;
    }
  }
  return listed;

  function describe(archive: OpenArchive, repository: string): ListedArchive {
    const versions = versionsOf(archive);
    return {
      repository,
      archive: archive.name,
      is_set_aside: nameBefore(archive.name) !== null,
      format: archive.format,
      versions: versions.length,
      newest: versions.at(-1)?.at ?? '',
      size_bytes: sizeOf(archive),
    };
  }
}

/** The versions of a repository, oldest first, and the names of its archives that were set aside. Throws AppError. */
export async function listVersions(
  root: string,
  repository: string,
): Promise<{ archive: string; versions: ListedVersion[]; set_aside: string[] }> {
  const names = await readNames(root);
  return withArchive(root, repository, (archive) => ({
    archive: archive.name,
    versions: versionsOf(archive),
    set_aside: setAsideOf(names.filter((name) => nameBefore(name) === archive.name)),
  }));
}

/** The repositories in an archive folder, according to file names. Throws SERVICE_UNAVAILABLE. */
export async function listRepositories(root: string): Promise<string[]> {
  return repositoriesOf(await readNames(root));
}

/** The names of archives that were set aside. */
function setAsideOf(names: readonly string[]): string[] {
  return names
    .filter((name) => nameBefore(name)?.includes('__'))
    .map(setAsideRepository)
    .sort();
}

function repositoriesOf(all: readonly string[]): string[] {
  const names = new Set(all);
  const setAside = new Set(all.map(nameBefore));
  const isIncrement = (name: string) => {
    const [, base] = /^(.+)\.\d+\.bundle$/.exec(name) ?? [];
    if (base === undefined || names.has(`${name}.json`)) return false;
    return names.has(`${base}.bundle`) || setAside.has(`${base}.bundle`);
  };
  const repositories = [...names]
    .filter((name) => /\.(?:bundle|tar\.gz)$/.test(name) && !isIncrement(name))
    .sort()
    .flatMap((name) => {
      const repository = name.replace(/\.(?:bundle|tar\.gz)$/, '').replace('__', '/');
      // A bundle can only be found by owner and name.
      return repository.includes('/') || name.endsWith('.tar.gz') ? [repository] : [];
    });
  // A bundle takes precedence over a tar.gz of the same name.
  return [...new Set(repositories)];
}

function isNoArchive({ code }: AppError): boolean {
  return code === 'NOT_FOUND' || code === 'BAD_REQUEST';
}

async function readNames(root: string): Promise<string[]> {
  try {
    return await readdir(root);
  } catch (error) {
    const reason = 'the archive folder (BACKUP_ARCHIVE_PATH) is missing or unreadable';
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

async function withArchive<Result>(
  root: string,
  repository: string,
  work: (archive: OpenArchive, repository: string) => Result,
): Promise<Result> {
  const archive = await openArchive(root, repository, null);
  try {
    return work(archive, repository);
  } finally {
    await archive.close();
  }
}

function versionsOf(archive: OpenArchive): ListedVersion[] {
  const { name, noted, modifiedAt, sizeBytes, increments } = archive;
  const at = new Date(modifiedAt).toISOString();
  const only = { at, run_id: null, ref_count: null, warning: null };
  if (noted === null || noted.versions.length === 0) {
    return [{ ...only, version: null, files: [name], size_bytes: sizeBytes }];
  }
  return noted.versions.map(({ version, at, run_id, ref_count, warning, files }) => {
    const needed = increments.slice(0, files - 1);
    const size = needed.reduce((sum, one) => sum + one.sizeBytes, sizeBytes);
    const names = [name, ...needed.map((one) => one.name)];
    return { version, at, run_id, ref_count, warning, files: names, size_bytes: size };
  });
}

function sizeOf({ sizeBytes, increments }: OpenArchive): number {
  return increments.reduce((sum, one) => sum + one.sizeBytes, sizeBytes);
}
