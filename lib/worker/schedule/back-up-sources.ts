import { readLastDurations } from '../../records/recording/durations.ts';
import { formatDuration } from '../../text/units.ts';
import { MAX_TRIES, pauseBeforeRetry } from '../faults/backoff.ts';
import type { Source } from '../source.ts';
import type { RunEvents } from '../watching/run-events.ts';
import { type AttemptContext, attempt, type Job } from './attempt.ts';
import { createDiskRoom } from './disk-room.ts';
import { runJobs, type Turn } from './jobs.ts';
import { hostOf, longestFirst } from './order.ts';
import { isFailure, type Outcome, withTries } from './outcome.ts';
import { recordOutcome } from './record-outcome.ts';

export interface SourcesContext extends Omit<AttemptContext, 'room'> {
  events: RunEvents;
  /** How many repositories are backed up at once. */
  concurrency: number;
  /** Ends the run for this reason, by aborting the signal. */
  stop(error: unknown): void;
  /** Called after an outcome was recorded. */
  onEnded(source: Source, outcome: Outcome): void;
}

/**
 * Backs up the sources, several at once and the longest first, and records each. No two may have the same
 * archive. A failure of a repository is an outcome; a transient one is tried again within the run. Throws only
 * what stops the run: the signal's reason, an unavailable database, or a login that the user must renew.
 */
export async function backUpSources(
  context: SourcesContext,
  sources: readonly Source[],
): Promise<void> {
  const { journal, events, runId, archiveFolder, concurrency, clock, signal, stop } = context;
  const names = sources.map(({ name }) => name);
  const durations = await journal.store.read(
    (db) => readLastDurations(db, names),
    () => new Map<string, number>(),
  );
  const jobs: Job[] = longestFirst(sources, durations).map((source) => ({
    source,
    tries: 0,
    durationMs: 0,
    publishedSha256: null,
  }));
  events.began({ id: runId, repositories: names, durations });
  const room = createDiskRoom(archiveFolder);
  await runJobs(jobs, {
    ...{ concurrency, clock, signal, stop },
    hostOf: ({ source }) => hostOf(source),
    work: (job) => tryJob({ ...context, room }, job),
  });
}

async function tryJob(context: SourcesContext & AttemptContext, job: Job): Promise<Turn> {
  const { clock, journal, events } = context;
  const { source } = job;
  if (job.tries === 0) {
    for (const remark of source.host?.remarks ?? [])
      await journal.note('info', remark, source.name);
  }
  job.tries++;
  const began = clock.now();
  const tried = await attempt(context, job, (doing) => events.working(source.name, doing));
  job.durationMs += clock.now() - began;
  const restMs = isFailure(tried) ? pauseBeforeRetry(tried.fault, job.tries) : null;
  const visit = !isFailure(tried) ? 'good' : tried.fault.isOverload ? 'overloaded' : 'other';
  if (isFailure(tried) && restMs !== null) {
    const next = `try ${job.tries + 1} of ${MAX_TRIES} in ${formatDuration(restMs)}`;
    events.rested(source.name);
    await journal.note('warn', `${tried.errorMessage} (${next})`, source.name);
    return { visit, restMs };
  }
  const outcome = withTries(tried, job.tries);
  const { durationMs, tries } = job;
  await recordOutcome(journal, source, outcome, { durationMs, tries });
  events.ended(source.name, outcome, { durationMs, tries });
  context.onEnded(source, outcome);
  return { visit, restMs: null };
}
