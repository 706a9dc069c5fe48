import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import pLimit from 'p-limit';
import { isSystemError } from '../../../files.ts';
import { openFileCalls, UnansweredCall } from '../../../processes/file-calls.ts';
import type { TrackedRepository } from '../../../records/recording/repo-state.ts';
import { AddressError } from '../../../text/source-address.ts';
import { countRepositories } from '../../../text/units.ts';
import { readArchiveOnDisk } from '../../archive/archive.ts';
import { isRepository, statOrNull } from '../../backup/is-repository.ts';
import { parseLocation, type Source } from '../../base/source.ts';

const AT_ONCE = 32;
/** A file system that hangs occupies a thread of Node's four for each file, until the process could read none at all. */
const LOOKS_AT_ONCE = 2;
/** More than any file that says where a worktree belongs, or what its HEAD is. */
const MAX_POINTER_BYTES = 8_192;

interface ExpandOptions {
  archiveFolder: string;
  /** How long a folder may take to answer. One that does not is left to git, which can be stopped. */
  maxWaitMs: number;
  /** Reads the repositories that have an archive; empty if that is unknown. */
  tracked(): Promise<readonly TrackedRepository[]>;
  /** Says which folder stands for which repositories, and what is wrong with one of them. */
  note(level: 'info' | 'error', text: string): Promise<void>;
}

/**
 * Replaces each folder that is no repository by the repositories in it, together with those that were backed up from it
 * and are gone: their backup fails, so that the loss is told. A folder that holds none stays as it is. Links to a
 * repository beside them, and its worktrees on a branch, are left out: its backup has everything of theirs.
 */
export async function expandFolders(
  given: readonly Source[],
  { archiveFolder, maxWaitMs, tracked, note }: ExpandOptions,
): Promise<Source[]> {
  const holders = new Map<Source, Held>();
  for (const source of given.filter(({ isLocal }) => isLocal)) {
    const { location } = source;
    const held = await inTime(() => lookInto(location), maxWaitMs);
    if (held === 'hangs') {
      const text = `the folder ${location} does not answer, so no further folder is searched for repositories`;
      await note('error', text);
      break;
    }
    if (held !== null) holders.set(source, held);
  }
  if (holders.size === 0) return [...given];
  const known = await readAddresses(archiveFolder, await tracked());
  const taken = new Set(given.map(({ location }) => location));
  const sources: Source[] = [];
  for (const source of given) {
    const held = holders.get(source);
    const found = held?.repositories;
    const gone = known.filter(
      (path) =>
        dirname(path) === source.location &&
        found?.includes(path) === false &&
        held?.doubles.has(path) === false,
    );
    if (found === undefined || found.length + gone.length === 0) {
      sources.push(source);
      continue;
    }
    const lost =
      gone.length === 0 ? '' : `; ${gone.length} more ${gone.length === 1 ? 'is' : 'are'} gone`;
    const number = countRepositories(found.length);
    await note(
      'info',
      `the folder ${source.location} holds ${number}, and each is backed up by itself${lost}`,
    );
    for (const [path, { of, kind }] of held?.doubles ?? []) {
      if (taken.has(path)) continue;
      await note('info', `${path} is ${kind} ${of}, and is not backed up again`);
    }
    for (const path of [...found, ...gone]) {
      if (taken.has(path)) continue;
      taken.add(path);
      try {
        const { namedBy } = source;
        sources.push({ ...parseLocation(path, '/'), ...(namedBy && { namedBy }) });
      } catch (error) {
        if (!(error instanceof AddressError)) throw error;
        await note('error', `${path} is not backed up: its path ${error.message}`);
      }
    }
  }
  return sources;
}

/** Other sources do without a folder that hangs. */
async function inTime<Value>(work: () => Promise<Value>, ms: number): Promise<Value | 'hangs'> {
  try {
    return await openFileCalls(ms).watch(work);
  } catch (error) {
    if (error instanceof UnansweredCall) return 'hangs';
    throw error;
  }
}

/** The repositories directly in a folder; null if it is a repository itself. */
async function lookInto(folder: string): Promise<Held | null> {
  return (await isRepository(folder)) ? null : listRepositories(folder);
}

/** What is directly in a folder. */
export interface Held {
  /** The repositories, by name. */
  repositories: string[];
  /** Paths whose backup would be that of a repository beside them. */
  doubles: Map<string, Double>;
}

export interface Double {
  of: string;
  kind: 'a link to' | 'a worktree of';
}

/** The repositories directly in a folder; none if it cannot be read: its backup says why. */
export async function listRepositories(folder: string): Promise<Held> {
  const limit = pLimit(LOOKS_AT_ONCE);
  try {
    const names = await readdir(folder);
    const paths = names.sort().map((name) => join(folder, name));
    const are = await Promise.all(paths.map((path) => limit(isRepository, path)));
    const repositories = paths.filter((_, index) => are[index]);
    const seen = await Promise.all(repositories.map((path) => limit(identify, path)));
    // One that is in the folder itself comes before links to it.
    const ordered = [
      ...seen.filter(({ isLink }) => !isLink),
      ...seen.filter(({ isLink }) => isLink),
    ];
    const doubles = new Map<string, Double>();
    const byPlace = new Map<string, string>();
    for (const { path, place } of ordered) {
      const of = byPlace.get(place);
      if (of === undefined) byPlace.set(place, path);
      else doubles.set(path, { of, kind: 'a link to' });
    }
    for (const { path, main } of seen) {
      const of = main === null ? undefined : byPlace.get(main);
      if (of !== undefined && of !== path) doubles.set(path, { of, kind: 'a worktree of' });
    }
    return { repositories: repositories.filter((path) => !doubles.has(path)), doubles };
  } catch (error) {
    if (isSystemError(error)) return { repositories: [], doubles: new Map() };
    throw error;
  }
}

interface Identity {
  path: string;
  isLink: boolean;
  /** Where it really is. */
  place: string;
  /** Where the repository is whose branches this worktree shares; null for anything else. */
  main: string | null;
}

async function identify(path: string): Promise<Identity> {
  try {
    const place = await realpath(path);
    const isLink = (await lstat(path)).isSymbolicLink();
    return { path, isLink, place, main: await findMain(place) };
  } catch (error) {
    // Its backup says what is wrong with it.
    if (isSystemError(error)) return { path, isLink: false, place: path, main: null };
    throw error;
  }
}

/** The main repository of a worktree on a branch. With a detached HEAD, it may have commits that nothing else names. */
async function findMain(worktree: string): Promise<string | null> {
  const pointer = /^gitdir: (.+)/.exec(await readPointer(join(worktree, '.git')))?.[1];
  if (pointer === undefined) return null;
  const own = resolve(worktree, pointer.trimEnd());
  if (basename(dirname(own)) !== 'worktrees') return null; // a submodule
  if (!(await readPointer(join(own, 'HEAD'))).startsWith('ref: refs/heads/')) return null;
  const common = await realpath(dirname(dirname(own)));
  return basename(common) === '.git' ? dirname(common) : common;
}

/** The text of a small file; empty for anything else. */
async function readPointer(path: string): Promise<string> {
  const found = await statOrNull(path);
  return found?.isFile() && found.size <= MAX_POINTER_BYTES ? readFile(path, 'utf8') : '';
}

/** The paths from which the repositories were backed up, except those that somebody has forgotten. */
async function readAddresses(
  archiveFolder: string,
  tracked: readonly TrackedRepository[],
): Promise<string[]> {
  const limit = pLimit(AT_ONCE);
  const read = async ({ archiveKey }: TrackedRepository) =>
    (await readArchiveOnDisk(archiveFolder, archiveKey)).record?.address ?? [];
  const kept = tracked.filter(({ isForgotten }) => !isForgotten);
  return (await Promise.all(kept.map((one) => limit(read, one)))).flat();
}
