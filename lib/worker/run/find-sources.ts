import type { Database } from '../../database/database.ts';
import { stallMsOf } from '../../git/git.ts';
import { hasDiscovered } from '../../records/coverage/has-discovered.ts';
import type { SeenRepository } from '../../records/recording/plans.ts';
import { listTracked } from '../../records/recording/repo-state.ts';
import type { NewSource } from '../../records/recording/sources.ts';
import { LOGIN_KEY, type TrackedSource } from '../../records/sources/sources.ts';
import { redact } from '../../security/redaction/redactor.ts';
import { AddressError, canonicalAddress } from '../../text/source-address.ts';
import { counted, countRepositories } from '../../text/units.ts';
import { assignArchives } from '../archive/assign-archives.ts';
import { type NamedBy, parseLocation, type Source } from '../base/source.ts';
import { RunStopped } from '../base/stop.ts';
import type { HostAccess } from '../logins/host-access.ts';
import { hasSourceToken } from '../logins/token-source.ts';
import { repositoriesOn } from '../offsite/destination/target.ts';
import { discoverSources } from './discovery/discover.ts';
import { readNamedSources } from './named-sources.ts';
import type { RunContext, RunDeps } from './run-deps.ts';
import { expandFolders } from './selection/expand-folders.ts';
import { type Selected, selectSources } from './selection/select.ts';

/** What is needed to find what a run backs up. */
export interface Finding {
  deps: Omit<RunDeps, 'watch'>;
  access: HostAccess;
  /** Whether the sources are remembered for a run without the database. */
  remembers: boolean;
  note(level: 'info' | 'warn' | 'error', text: string, repository?: string): Promise<void>;
  read<Value>(
    work: (db: Database) => Promise<Value>,
    without: () => Value | Promise<Value>,
  ): Promise<Value>;
  /** Called with the archived repositories that are no longer listed, and how many still are. */
  missed?(names: readonly string[], listed: number): Promise<void>;
}

/** What a run backs up, before names are assigned and patterns applied. */
export interface FoundSources {
  sources: Source[];
  /** What discovery saw and may not read; null if nothing was discovered. */
  unread: SeenRepository[] | null;
  /** Whether these are all repositories that any source names. */
  isComplete: boolean;
  /** Why discovery failed, if other sources are backed up all the same. */
  fault: RunStopped | null;
}

/**
 * Finds the repositories of the sources given on the command line, or of all sources that are not paused. Throws
 * RunStopped if there is nothing else, and discovery fails.
 */
export async function findSources(
  finding: Finding,
  given: readonly Source[] | null,
): Promise<FoundSources> {
  if (given !== null) {
    const sources = await expand(finding, given);
    return { sources, unread: null, isComplete: false, fault: null };
  }
  const { note, deps } = finding;
  const { login, others, isAll } = await readNamedSources({ ...deps, ...finding });
  const isPaused = ({ pausedAt }: TrackedSource) => pausedAt !== null;
  const paused = others.filter(isPaused);
  if (paused.length > 0) await note('info', `${counted(paused.length, 'source')} left out: paused`);
  const named = await openSources(
    finding,
    others.filter((source) => !isPaused(source)),
  );
  if (login === null || !(await shouldDiscover(finding, login, others.length))) {
    return { sources: await expand(finding, named), unread: null, isComplete: isAll, fault: null };
  }
  try {
    const discovered = await discover(finding, login, named);
    const { unread } = discovered;
    const sources = join(discovered.sources, await expand(finding, named));
    return { sources, unread, isComplete: isAll, fault: null };
  } catch (error) {
    deps.signal.throwIfAborted();
    if (named.length === 0 || !(error instanceof RunStopped)) throw error;
    const sources = await expand(finding, named);
    return { sources, unread: null, isComplete: false, fault: error };
  }
}

/** Without a login there is nothing to discover, unless one has been lost. */
async function shouldDiscover(
  { note, read, deps }: Finding,
  login: TrackedSource,
  otherSources: number,
): Promise<boolean> {
  if (login.pausedAt !== null) {
    await note('info', 'nothing is discovered: the login is paused as a source');
    return false;
  }
  if (otherSources === 0 || (await hasSourceToken(deps.gitHost))) return true;
  return read(hasDiscovered, () => false);
}

async function openSources(
  { note }: Finding,
  sources: readonly TrackedSource[],
): Promise<Source[]> {
  const opened: Source[] = [];
  for (const { address, key, exclude } of sources) {
    const namedBy: NamedBy = { key, exclude, label: address };
    try {
      opened.push({ ...parseLocation(address, '/'), namedBy });
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      await note('error', `the source ${address} is not backed up: it ${error.message}`);
    }
  }
  return opened;
}

/** The given sources, with the repositories of each folder that holds some. */
function expand({ deps, note, read }: Finding, given: readonly Source[]): Promise<Source[]> {
  const { archiveFolder, environment } = deps;
  const tracked = () => read(listTracked, () => []);
  return expandFolders(given, {
    ...{ archiveFolder, tracked, note },
    maxWaitMs: stallMsOf(environment),
  });
}

/** The repositories that discovery finds, and those that it may not read. */
async function discover(
  { deps, access, note, read, missed }: Finding,
  login: TrackedSource,
  named: readonly Source[],
): Promise<{ sources: Source[]; unread: SeenRepository[] }> {
  const { archiveFolder, target, stores } = deps;
  const tracked = () => read(listTracked, () => []);
  const unread: SeenRepository[] = [];
  const { hostUrl } = access.connection;
  const found = await discoverSources({
    ...{ tracked, access, archiveFolder, note },
    destinations: repositoriesOn(hostUrl, target, stores.addresses),
    named: named.map(({ location }) => canonicalAddress(location)),
    ...(missed && { missed }),
    unread: (seen) => void unread.push({ ...seen, facts: {} }),
  });
  await note('info', `discovery found ${countRepositories(found.length)}`);
  const namedBy: NamedBy = { key: LOGIN_KEY, exclude: login.exclude, label: 'the login' };
  return { sources: found.map((source) => ({ ...source, namedBy })), unread };
}

/** Discovery knows more about a repository that is also named. That one is named matters more than patterns. */
function join(discovered: readonly Source[], named: readonly Source[]): Source[] {
  const byKey = new Map(named.map((source) => [canonicalAddress(source.location), source]));
  const both = new Set<Source>();
  const sources = discovered.map((source) => {
    const other = byKey.get(canonicalAddress(source.location));
    if (other?.namedBy === undefined) return source;
    both.add(other);
    return { ...source, namedBy: other.namedBy };
  });
  return [...sources, ...named.filter((source) => !both.has(source))];
}

/** How the log names what a run finds its repositories in. */
export function describeWanted(given: readonly Source[] | null, { named }: RunDeps): string {
  if (given !== null) return counted(given.length, 'source');
  return named.ids === null
    ? 'discovering repositories'
    : `discovering repositories of ${counted(named.ids.length, 'source')}`;
}

/** Archives belong to addresses: notes which sources are backed up under another name. */
export async function assignNames(
  { journal, archiveFolder }: RunContext,
  sources: readonly Source[],
): Promise<Source[]> {
  const assigned = await assignArchives(archiveFolder, sources);
  for (const { from, to, owner } of assigned.renamed) {
    const why =
      owner === null ? 'its archive has that name' : `the archive of ${from} belongs to ${owner}`;
    const text = `backed up as ${to}: ${why}`;
    await journal.note('info', text, to);
  }
  await journal.tell({ type: 'sources', sources: addressesOf(assigned.sources) });
  return assigned.sources;
}

/** Where the sources are read. One that discovery no longer finds is read nowhere. */
function addressesOf(sources: readonly Source[]): NewSource[] {
  return sources
    .filter(({ host }) => host?.plan !== 'lost')
    .map(({ name, location, namedBy }) => ({
      ...{ repository: name, address: redact(location) },
      namedBy: namedBy?.key ?? null,
    }));
}

/** What patterns leave. Throws RunStopped if that is nothing, which is hardly intended. */
export async function selectWanted(
  { journal, selection }: RunContext,
  found: readonly Source[],
): Promise<Selected> {
  const result = selectSources(found, selection);
  const { selected, leftOut, unmatched } = result;
  for (const { from, text } of unmatched) {
    await journal.note('warn', `${from} ${text} matches no repository`);
  }
  const bySource = leftOut.filter(({ isOfSource }) => isOfSource).length;
  if (selected.length === 0 && leftOut.length > 0) {
    const what = bySource === 0 ? '--only and --exclude' : 'patterns';
    throw new RunStopped(`nothing to back up: ${what} leave every repository out`);
  }
  if (leftOut.length > bySource) {
    const number = countRepositories(leftOut.length - bySource);
    await journal.note('info', `${number} left out by --only or --exclude`);
  }
  if (bySource > 0) {
    const number = countRepositories(bySource);
    await journal.note('info', `${number} left out by the patterns of a source`);
  }
  return result;
}
