import { archiveKey } from '../../../archives/base/archive-name.ts';
import type { Progress } from '../../../git/progress.ts';
import { readLastDurations } from '../../../records/recording/durations.ts';
import { formatDuration } from '../../../text/units.ts';
import type { Recheck } from '../../archive/recheck.ts';
import { isFailure, type Outcome, withMachine, withTries } from '../../backup/outcome.ts';
import { MAX_TRIES, pauseBeforeRetry } from '../../base/backoff.ts';
import type { Source } from '../../base/source.ts';
import type { RunStore } from '../spool/run-store.ts';
import { type AttemptContext, attempt, type Job } from './attempt.ts';
import type { Waiting } from './deliver.ts';
import { createDiskRoom } from './disk-room.ts';
import { type JobSource, runJobs, type Turn } from './jobs.ts';
import { hostOf, longestFirst } from './order.ts';
import { recordOutcome } from './record-outcome.ts';

interface SourcesContext extends Omit<AttemptContext, 'room'> {
  /** Called after an outcome was recorded. */
  onEnded(source: Source, outcome: Outcome): void;
}

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

/** A job without attempts. */
export function newJob(source: Source, found: Pick<Job, 'isDamaged' | 'altered'>): Job {
  return { source, tries: 0, durationMs: 0, publishedSha256: null, ...found };
}

/**
 * Works on several jobs at once and records each outcome. A failure of a repository is an outcome, and a transient one
 * is retried within the run. Throws only what stops the run: the signal's reason, an unavailable database, or a login
 * that the user must renew.
 */
export async function backUpSources(context: SourcesContext, jobs: JobSource<Job>): Promise<void> {
  const { archiveFolder, concurrency, clock, signal, stop } = context;
  const room = createDiskRoom(archiveFolder);
  const waiting: WaitingJob[] = [];
  await runJobs(jobs, {
    ...{ concurrency, clock, signal, stop },
    hostOf: ({ source }) => hostOf(source),
    work: (job) => tryJob({ ...context, room }, job, waiting),
    settle: () => settle(context, waiting),
  });
}

/** A job whose archive is pushed together with others. */
interface WaitingJob extends Pick<Waiting, 'conclude'> {
  job: Job;
}

/** Pushes waiting archives and records the outcomes. False if none are waiting. */
async function settle(context: SourcesContext, waiting: WaitingJob[]): Promise<boolean> {
  const all = waiting.splice(0);
  if (all.length === 0) return false;
  await context.offsite?.settle();
  for (const { job, conclude } of all)
    await end(context, job, withMachine(await conclude(), context.hostName));
  return true;
}

async function tryJob(
  context: SourcesContext & AttemptContext,
  job: Job,
  waiting: WaitingJob[],
): Promise<Turn> {
  const { clock, journal, events } = context;
  const { source } = job;
  if (job.tries === 0) {
    for (const remark of source.host?.remarks ?? [])
      await journal.note('info', remark, source.name);
  }
  job.tries++;
  const began = clock.now();
  const show = (doing: string | Progress) => events.working(source.name, doing);
  const made = await attempt(context, job, show);
  job.durationMs += clock.now() - began;
  if (made.status === 'waiting') {
    events.working(source.name, 'waiting for the push');
    waiting.push({ job, conclude: made.conclude });
    return { visit: 'good', restMs: null };
  }
  const tried = withMachine(made, context.hostName);
  const restMs = isFailure(tried) ? pauseBeforeRetry(tried.fault, job.tries) : null;
  const visit = !isFailure(tried) ? 'good' : tried.fault.isOverload ? 'overloaded' : 'other';
  if (isFailure(tried) && restMs !== null) {
    const next = `try ${job.tries + 1} of ${MAX_TRIES} in ${formatDuration(restMs)}`;
    events.rested(source.name);
    await journal.note('warn', `${tried.errorMessage} (${next})`, source.name);
    return { visit, restMs };
  }
  await end(context, job, tried);
  return { visit, restMs: null };
}

async function end(context: SourcesContext, job: Job, tried: Outcome): Promise<void> {
  const { journal, events } = context;
  const { source, durationMs, tries } = job;
  const outcome = withTries(tried, tries);
  await recordOutcome(journal, source, outcome, { durationMs, tries });
  events.ended(source.name, outcome, { durationMs, tries });
  context.onEnded(source, outcome);
}
