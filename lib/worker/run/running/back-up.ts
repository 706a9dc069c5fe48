import { archiveKey } from '../../../archives/base/archive-name.ts';
import { orAborted } from '../../../async.ts';
import { describeLacks, findLacks, type Lack } from '../../../durable-files.ts';
import { messageOf } from '../../../errors.ts';
import { isSystemError } from '../../../files.ts';
import { stallMsOf } from '../../../git/git.ts';
import { describeStuck, sweepScratch } from '../../../processes/scratch.ts';
import type { SeenRepository } from '../../../records/recording/plans.ts';
import { listTracked } from '../../../records/recording/repo-state.ts';
import type { RunRequest } from '../../../records/recording/requests.ts';
import type { NewSource } from '../../../records/recording/sources.ts';
import { recordLack } from '../../../records/recording/stores.ts';
import { redact } from '../../../security/redaction/redactor.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { counted, countRepositories } from '../../../text/units.ts';
import { makeArchiveFolder } from '../../archive/archive.ts';
import { assignArchives } from '../../archive/assign-archives.ts';
import { type Recheck, recheckArchives } from '../../archive/recheck.ts';
import { isFailure, type Outcome } from '../../backup/outcome.ts';
import { orHangs } from '../../base/answering-folder.ts';
import type { Source } from '../../base/source.ts';
import { RunStopped } from '../../base/stop.ts';
import { type HostAccess, openHostAccess } from '../../logins/host-access.ts';
import { repositoriesOn } from '../../offsite/destination/target.ts';
import { discoverSources } from '../discovery/discover.ts';
import type { Job } from '../schedule/attempt.ts';
import { backUpSources, type JobList, listJobs } from '../schedule/back-up-sources.ts';
import { type JobSource, jobsOf } from '../schedule/jobs.ts';
import { hostOf } from '../schedule/order.ts';
import type { RunContext, RunDeps } from '../schedule/run-deps.ts';
import { describeCoverage } from '../selection/coverage.ts';
import { expandFolders } from '../selection/expand-folders.ts';
import { type Selected, selectSources } from '../selection/select.ts';
import type { FailedRepository } from '../watching/failures.ts';
import { nameRun } from '../watching/report.ts';
import { findFailing } from './failing-stores.ts';
import { type LostArchive, lookForArchives } from './look-for-archives.ts';
import { type Places, withPlaces } from './places.ts';
import { claimFulfilled } from './requests.ts';
import { storeSnapshot } from './store-snapshot.ts';

/** The progress of a run. */
export interface RunProgress {
  requests: RunRequest[];
  sources: readonly Source[];
  failed: Set<Source>;
  failures: FailedRepository[];
  /** The addresses of sources that were never read. */
  unread: string[];
  /** How many archives are gone that the run does not make again. */
  lost: number;
  empty: number;
}

/** The progress of a run that is starting. */
export function newProgress(sources: readonly Source[]): RunProgress {
  return { requests: [], sources, failed: new Set(), failures: [], unread: [], lost: 0, empty: 0 };
}

/** The work of a run. */
interface RunPlan {
  /** All sources, including excluded ones: their archives count towards the figures. */
  found: readonly Source[];
  list: JobList;
}

/** Finds the sources, backs them up and takes the snapshot. Throws whatever stops the run. */
export async function backUp(
  deps: RunContext,
  given: readonly Source[] | null,
  progress: RunProgress,
): Promise<void> {
  const { journal, events } = deps;
  const access = openAccess(deps);
  const { found, list } = await planRun(deps, access, given, progress);
  const id = journal.store.run?.id ?? null;
  const repositories = progress.sources.map(({ name }) => name);
  events.began({ id, isJoined: false, repositories, durations: list.durations });
  await withPlaces(deps, access, async (places) => {
    await workOn(
      deps,
      jobsOf(list.jobs, ({ source }) => hostOf(source)),
      places,
      progress,
    );
    await places.tidy(journal.note);
    // The archives of excluded repositories are still there.
    const names = found.map(({ name }) => name);
    await storeSnapshot(deps, names, places.measured);
  });
}

/** The access of a run to the git host. */
export function openAccess({ gitHost, clock, signal, display }: RunDeps): HostAccess {
  return openHostAccess(gitHost, { ...gitHost, clock, signal }, display.line);
}

/** Plans the work of a run: finds and selects sources, claims requests, and rereads archives. */
export async function planRun(
  deps: RunContext,
  access: HostAccess,
  given: readonly Source[] | null,
  progress: RunProgress,
): Promise<RunPlan> {
  const { journal } = deps;
  const { store } = journal;
  const isDiscovered = given === null;
  const what = isDiscovered ? 'discovering repositories' : countRepositories(given.length);
  await journal.note('info', `${nameRun(store.run)} started: ${what}`);
  await prepareFolders(deps);
  const lost = await lookForArchives(deps);
  const unread: SeenRepository[] = [];
  const named = given === null ? await discover(deps, access, unread) : await expand(deps, given);
  const found = await assign(deps, named);
  const selected = await select(deps, found);
  const { selected: sources, leftOut } = selected;
  if (isDiscovered) {
    const repositories = describeCoverage(selected, unread, deps.target !== null);
    await store.write({ type: 'coverage', repositories });
  }
  progress.sources = sources;
  await store.write({ type: 'total', totalRepos: sources.length });
  const requested = { journal, sources, leftOut, isDiscovered };
  progress.requests = await claimFulfilled(requested);
  await recordLost(deps, lost, progress);
  const list = await listJobs(store, sources, await recheck(deps, sources, lost, progress));
  return { found, list };
}

/** Works on jobs and records their outcomes. Throws whatever stops the run. */
export async function workOn(
  deps: RunContext,
  jobs: JobSource<Job>,
  { destination, offsite, incrementsFromBytes }: Places,
  progress: RunProgress,
): Promise<void> {
  const onEnded = (source: Source, outcome: Outcome) => {
    if (isFailure(outcome)) {
      const { errorMessage, fault, isUnread = false } = outcome;
      const repository = isUnread ? source.location : source.name;
      progress.failed.add(source);
      if (isUnread) progress.unread.push(source.location);
      progress.failures.push({ repository, kind: fault.kind, errorMessage });
    }
    if (outcome.status === 'empty') progress.empty++;
  };
  const runId = deps.journal.store.run?.id ?? null;
  const { store, note } = deps.journal;
  // What a store has lost is no copy any more, also of repositories that this run does not back up.
  for (const lack of (await offsite?.check(note)) ?? []) {
    await store.read(
      (db) => recordLack(db, lack),
      () => undefined,
    );
  }
  const isFailing = await findFailing(deps.journal.store, offsite);
  const places = { destination, offsite, isFailing };
  const mirrorLacks = await readLacks(deps, deps.mirrorFolder);
  const context = { ...deps, ...places, runId, incrementsFromBytes, mirrorLacks, onEnded };
  await backUpSources(context, jobs);
}

/**
 * Rereads the archives that have gone unchecked the longest. Damage to a source's archive is repaired or reported by
 * its backup; for other archives a failure is recorded.
 */
async function recheck(
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
    const none = { commitHash: '', archiveSizeBytes: 0, durationMs: 0, archive: null };
    const errorMessage = `the archive is damaged: ${fault}`;
    await journal.record({ ...none, repository, status: 'failed', errorMessage, fault: 'archive' });
    progress.failures.push({ repository, kind: 'archive', errorMessage });
  }
  return found;
}

/** A lost archive is a failure even if the run does not back up its repository. */
async function recordLost(
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
    const none = { commitHash: '', archiveSizeBytes: 0, durationMs: 0, archive: null };
    const errorMessage = cleanText(reason);
    await journal.record({ ...none, repository, status: 'failed', errorMessage, fault: 'archive' });
  }
}

/** The sources given on the command line, with the repositories of each folder that holds some. */
function expand(
  { journal, archiveFolder, environment, clock, signal }: RunContext,
  given: readonly Source[],
): Promise<Source[]> {
  const { note, store } = journal;
  const tracked = () => store.read(listTracked, () => []);
  const maxWaitMs = stallMsOf(environment);
  const options = { archiveFolder, maxWaitMs, clock, tracked, note };
  return orAborted(signal, () => expandFolders(given, options));
}

/** Archives belong to addresses: notes which sources are backed up under another name. */
async function assign(
  { journal, archiveFolder, signal }: RunContext,
  sources: readonly Source[],
): Promise<Source[]> {
  const assigned = await orAborted(signal, () => assignArchives(archiveFolder, sources));
  for (const { from, to, owner } of assigned.renamed) {
    const why =
      owner === null ? 'its archive has that name' : `the archive of ${from} belongs to ${owner}`;
    const text = `backed up as ${to}: ${why}`;
    await journal.note('info', text, to);
  }
  await journal.store.write({ type: 'sources', sources: addressesOf(assigned.sources) });
  return assigned.sources;
}

/** Where the sources are read. One that discovery no longer finds is read nowhere. */
function addressesOf(sources: readonly Source[]): NewSource[] {
  return sources
    .filter(({ host }) => host?.plan !== 'lost')
    .map(({ name, location }) => ({ repository: name, address: redact(location) }));
}

async function discover(
  { journal, archiveFolder, target, stores }: RunContext,
  access: HostAccess,
  unread: SeenRepository[],
): Promise<Source[]> {
  const { note, store } = journal;
  const tracked = () => store.read(listTracked, () => []);
  const { hostUrl } = access.connection;
  const destinations = repositoriesOn(hostUrl, target, stores.addresses);
  const missed = async (names: readonly string[], listed: number) =>
    void (await store.write({ type: 'missing', names, listed }));
  const sources = await discoverSources({
    ...{ tracked, access, archiveFolder, destinations, note, missed },
    unread: (seen) => void unread.push({ ...seen, facts: {} }),
  });
  await note('info', `discovery found ${countRepositories(sources.length)}`);
  return sources;
}

/** Throws RunStopped if nothing is left, which is hardly intended. */
async function select(
  { journal, selection }: RunContext,
  found: readonly Source[],
): Promise<Selected> {
  const result = selectSources(found, selection);
  const { selected, leftOut, unmatched } = result;
  for (const { from, text } of unmatched) {
    await journal.note('warn', `${from} ${text} matches no repository`);
  }
  if (selected.length === 0 && leftOut.length > 0) {
    throw new RunStopped('nothing to back up: --only and --exclude leave every repository out');
  }
  if (leftOut.length > 0) {
    await journal.note(
      'info',
      `${countRepositories(leftOut.length)} left out by --only or --exclude`,
    );
  }
  return result;
}

/** Creates the folders that a run writes to. Throws RunStopped. */
export async function prepareFolders(deps: RunContext): Promise<void> {
  await deps.time.check();
  await prepareFolder(deps, deps.archiveFolder, 'the archive folder');
  await prepareFolder(deps, deps.mirrorFolder, 'the mirror folder');
  await noteLacks(deps);
}

/** Says once in a run what the file system of the archives cannot do. */
async function noteLacks(deps: RunContext): Promise<void> {
  const lacks = await readLacks(deps, deps.archiveFolder);
  const text = describeLacks('the archive folder', lacks);
  if (text !== null) await deps.journal.note('warn', text);
}

async function readLacks({ signal }: RunContext, folder: string): Promise<Lack[]> {
  try {
    return await orAborted(signal, () => findLacks(folder));
  } catch (error) {
    // Each backup fails with the same error, and says it.
    if (!isSystemError(error)) throw error;
    return [];
  }
}

async function prepareFolder(
  { time, signal, log, clock, environment }: RunContext,
  folder: string,
  what: string,
): Promise<void> {
  try {
    // Calls to a hanging file system cannot be aborted.
    const bound = { folder, ms: stallMsOf(environment), clock };
    await orAborted(signal, () => orHangs(bound, makeArchiveFolder(folder)));
    const stuck = await orAborted(signal, () => orHangs(bound, sweepScratch(folder, time.now())));
    if (stuck !== null) log.warn(describeStuck(stuck));
  } catch (cause) {
    signal.throwIfAborted();
    const reason = messageOf(cause);
    throw new RunStopped(cleanText(`${what} cannot be used: ${reason}`), { cause });
  }
}
