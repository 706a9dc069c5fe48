import { archiveKey } from '../../archives/base/archive-name.ts';
import { readLastDurations } from '../../records/recording/durations.ts';
import { listFailingStorings, recordLack } from '../../records/recording/stores.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted, formatBytes, formatDuration } from '../../text/units.ts';
import { archiveBytes, type KeptArchive } from '../archive/archive.ts';
import { findLacks } from '../archive/lacks.ts';
import type { Recheck } from '../archive/recheck.ts';
import { type BackupContext, type Job, newJob } from '../backup/backup.ts';
import type { Waiting } from '../backup/deliver.ts';
import { createDiskRoom } from '../backup/disk-room.ts';
import { failure, isFailure, type Outcome, withMachine, withTries } from '../backup/outcome.ts';
import { backUpRepository } from '../backup/repository.ts';
import { FolderHangs, orHangs } from '../base/answering-folder.ts';
import { MAX_TRIES, pauseBeforeRetry } from '../base/repository-retries.ts';
import type { Source } from '../base/source.ts';
import type { Offsite } from '../offsite/offsite.ts';
import type { Journal } from '../record/journal.ts';
import type { RunStore } from '../record/run-store.ts';
import { type JobSource, runJobs, type Turn } from './jobs.ts';
import { hostOf, longestFirst } from './order.ts';
import { readLacks } from './prepare-folders.ts';
import type { RunContext, RunProgress } from './run-deps.ts';
import type { RunTargets } from './targets.ts';

/** The jobs of a run, longest first, and how long the last backup of some took, in milliseconds. */
export interface JobList {
  jobs: Job[];
  durations: Map<string, number>;
}

/** Creates a job for each source. No two may share an archive. */
export async function listJobs(
  store: RunStore,
  sources: readonly Source[],
  { damaged, altered }: Pick<Recheck, 'damaged' | 'altered'>,
): Promise<JobList> {
  const names = sources.map(({ name }) => name);
  const durations = await store.read(
    (db) => readLastDurations(db, names),
    () => new Map<string, number>(),
  );
  const jobs = longestFirst(sources, durations).map((source) => {
    const key = archiveKey(source.name);
    return newJob(source, { isDamaged: damaged.has(key), altered: altered.get(key) ?? null });
  });
  return { jobs, durations };
}

type EachContext = BackupContext & Pick<RunContext, 'clock'> & { progress: RunProgress };

/**
 * Backs up several repositories at once and records each outcome. A failure of a repository is an outcome, and a
 * transient one is retried within the run. Throws only what stops the run: the signal's reason, an unavailable database,
 * or a login that the user must renew.
 */
export async function backUpEach(
  run: RunContext,
  jobs: JobSource<Job>,
  { destination, offsite, incrementsFromBytes }: RunTargets,
  progress: RunProgress,
): Promise<void> {
  const { journal, archiveFolder, mirrorFolder, concurrency, clock, signal, stop } = run;
  const repositories = progress.sources.map(({ name }) => name);
  const stores = (offsite?.stores ?? []).map(({ address }) => address.text);
  const tellStores = () =>
    journal.tell({ type: 'stores', repositories, stores, machine: journal.store.machine });
  await tellStores();
  // What a store has lost is no copy any more, also of repositories that this run does not back up.
  for (const lack of (await offsite?.check(journal.note)) ?? []) {
    await journal.store.read(
      (db) => recordLack(db, lack),
      () => undefined,
    );
  }
  const context: EachContext = {
    ...{ ...run, destination, offsite, incrementsFromBytes, progress },
    isFailing: await findFailing(journal.store, offsite),
    mirrorLacks: await readLacks(mirrorFolder),
    room: createDiskRoom(archiveFolder),
  };
  const waiting: WaitingJob[] = [];
  await runJobs(jobs, {
    ...{ concurrency, clock, signal, stop },
    hostOf: ({ source }) => hostOf(source),
    work: (job) => tryJob(context, job, waiting),
    settle: () => settle(context, waiting),
  });
  // Now that each store has its rows.
  await tellStores();
}

/** A job whose archive is pushed together with others. */
interface WaitingJob extends Pick<Waiting, 'conclude'> {
  job: Job;
}

/** Pushes waiting archives and records the outcomes. False if none are waiting. */
async function settle(context: EachContext, waiting: WaitingJob[]): Promise<boolean> {
  const all = waiting.splice(0);
  if (all.length === 0) return false;
  await context.offsite?.settle();
  for (const { job, conclude } of all)
    await end(context, job, withMachine(await conclude(), context.hostName));
  return true;
}

/** Makes one attempt, and decides whether another follows. */
async function tryJob(context: EachContext, job: Job, waiting: WaitingJob[]): Promise<Turn> {
  const { clock, journal, hostName } = context;
  const { source } = job;
  const repository = source.name;
  if (job.tries === 0) {
    for (const remark of source.host?.remarks ?? []) await journal.note('info', remark, repository);
  }
  job.tries++;
  const began = clock.now();
  const made = await backUpOrHang(context, job);
  job.durationMs += clock.now() - began;
  if (made.status === 'waiting') {
    await journal.tell({ type: 'working', repository, doing: 'waiting for the push' });
    waiting.push({ job, conclude: made.conclude });
    return { visit: 'good', restMs: null };
  }
  const outcome = withMachine(made, hostName);
  if (!isFailure(outcome)) {
    await end(context, job, outcome);
    return { visit: 'good', restMs: null };
  }
  const { fault, errorMessage } = outcome;
  const visit = fault.isOverload ? 'overloaded' : 'other';
  const restMs = pauseBeforeRetry(fault, job.tries);
  if (restMs === null) {
    await end(context, job, outcome);
    return { visit, restMs };
  }
  const next = `try ${job.tries + 1} of ${MAX_TRIES} in ${formatDuration(restMs)}`;
  await journal.tell({ type: 'resting', repository });
  await journal.note('warn', `${errorMessage} (${next})`, repository);
  return { visit, restMs };
}

/** A repository with a file that never answers fails alone; a folder that does not answer at all ends the run. */
async function backUpOrHang(context: EachContext, job: Job): Promise<Outcome | Waiting> {
  const folders = () => [context.archiveFolder, context.mirrorFolder];
  try {
    return await orHangs({ ...context, folders }, (signal) =>
      backUpRepository({ ...context, signal }, job),
    );
  } catch (error) {
    if (!(error instanceof FolderHangs) || error.isWhole) throw error;
    return failure(error.message);
  }
}

/** Records how a job ended. */
async function end({ journal, progress }: EachContext, job: Job, tried: Outcome): Promise<void> {
  const { source, durationMs, tries } = job;
  const outcome = withTries(tried, tries);
  if (isFailure(outcome)) {
    const { errorMessage, fault, isUnread = false, isRemade = false } = outcome;
    const why = { kind: fault.kind, errorMessage };
    progress.failed.add(source);
    if (isUnread) {
      progress.unread.push({ source: cleanText(source.location), ...why });
      progress.total--;
    } else progress.failures.push({ repository: source.name, ...why, isRemade });
  }
  if (outcome.status === 'empty') progress.empty++;
  const { total: totalRepos } = progress;
  await recordOutcome(journal, source, outcome, { durationMs, tries, totalRepos });
  await journal.tell({
    ...{ type: 'ended', repository: source.name, durationMs, tries },
    ...describeEnd(source, outcome),
  });
}

function describeEnd({ location }: Source, outcome: Outcome) {
  const { status } = outcome;
  const good = { status, unread: null, failure: null, archive: null };
  if (isFailure(outcome)) {
    const { errorMessage, fault, isUnread = false } = outcome;
    const failure = { kind: fault.kind, errorMessage };
    if (!isUnread) return { ...good, failure };
    return { ...good, failure, status: 'unread' as const, unread: cleanText(location) };
  }
  if (outcome.status === 'empty') return good;
  const { key, record } = outcome;
  return { ...good, archive: { key, sizeBytes: record.archive_size_bytes } };
}

/** Records an outcome and logs it. */
async function recordOutcome(
  journal: Journal,
  source: Source,
  outcome: Outcome,
  { durationMs, tries, totalRepos }: { durationMs: number; tries: number; totalRepos: number },
): Promise<void> {
  const none = { commitHash: '', archiveSizeBytes: 0, errorMessage: '', archive: null };
  const { name: repository } = source;
  const result = { ...none, type: 'result', repository, durationMs, tries } as const;
  switch (outcome.status) {
    case 'unchanged':
      return journal.tell({ type: 'unchanged', repository, message: 'unchanged, skipped' });
    case 'empty':
      await journal.tell({ ...result, status: 'empty' });
      return journal.note('info', 'empty: no branches or tags to archive', repository);
    case 'failed':
    case 'too_large': {
      const { status, errorMessage, archive, fault, isUnread = false } = outcome;
      if (isUnread) {
        const address = cleanText(source.location);
        const reason = cleanText(errorMessage);
        const message = `the source ${address} cannot be read: ${reason}`;
        const unread = { source: address, reason, message, totalRepos };
        return journal.tell({ type: 'unread', repository, ...unread });
      }
      const facts = { ...(archive && factsOf(archive)), fault: fault.kind };
      await journal.tell({ ...result, ...facts, status, errorMessage });
      return journal.note('error', errorMessage, repository);
    }
    case 'completed': {
      const { key, record } = outcome;
      await journal.tell({ ...result, ...factsOf(outcome), status: 'completed' });
      const size = formatBytes(archiveBytes(record));
      const { total_commits: total, uncounted } = record.figures;
      const commits = `${counted(total, 'commit')}, `;
      const archived = `archived ${uncounted.includes('commits') ? '' : commits}${size} in ${key}`;
      await journal.note('info', archived, repository);
      if (record.incomplete !== null) await journal.note('warn', record.incomplete, repository);
      if (uncounted.length === 0) return;
      const text = `the ${uncounted.join(' and ')} were not counted: there are too many, or git could not read them in time; the archive contains all of them`;
      return journal.note('warn', text, repository);
    }
  }
}

/** The fields of a result that describe an archive. */
function factsOf({ key, record }: KeptArchive) {
  return {
    commitHash: record.figures.head_commit,
    archiveSizeBytes: archiveBytes(record),
    incomplete: record.incomplete,
    lacks: findLacks(record.figures),
    archive: { key, sha256: record.archive_sha256 },
  };
}

/**
 * Returns a function that says whether a store may have failed to take a repository at the last attempt; without the
 * database, any may have.
 */
async function findFailing(
  store: RunStore,
  offsite: Offsite | null,
): Promise<(repository: string, address: string) => boolean> {
  if (offsite === null) return () => false;
  const addresses = offsite.stores.map(({ address }) => address.text);
  const nameOf = (repository: string, address: string) => `${address}\n${repository}`;
  const failing = await store.read(
    async (db) => {
      const rows = await listFailingStorings(db, addresses);
      return new Set(rows.map((row) => nameOf(row.repository, row.store)));
    },
    () => null,
  );
  return (repository, address) => failing?.has(nameOf(repository, address)) ?? true;
}
