import { readLastDurations } from '../../records/recording/durations.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatDuration } from '../../text/units.ts';
import type { Display } from '../display.ts';
import { MAX_TRIES, pauseBeforeRetry } from '../faults/backoff.ts';
import type { Source } from '../source.ts';
import { type AttemptContext, attempt, type Job } from './attempt.ts';
import { createDiskRoom } from './disk-room.ts';
import { runJobs, type Turn } from './jobs.ts';
import { hostOf, longestFirst } from './order.ts';
import { isFailure, type Outcome, recordOutcome, withTries } from './outcome.ts';

export interface SourcesContext extends Omit<AttemptContext, 'room'> {
  display: Display;
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
  const { db, journal, display, archiveFolder, concurrency, clock, signal, stop } = context;
  const names = sources.map(({ name }) => name);
  const durations = await journal.persist(() => readLastDurations(db, names));
  const jobs: Job[] = longestFirst(sources, durations).map((source) => ({
    source,
    tries: 0,
    durationMs: 0,
    publishedSha256: null,
  }));
  const room = createDiskRoom(archiveFolder);
  let done = 0;
  await runJobs(jobs, {
    ...{ concurrency, clock, signal, stop },
    hostOf: ({ source }) => hostOf(source),
    async work(job) {
      const turn = await tryJob({ ...context, room }, job, (doing) =>
        display.progress(done, jobs.length, `${cleanText(job.source.name)}: ${doing}`),
      );
      if (turn.restMs === null) done++;
      return turn;
    },
  });
  display.clear();
}

async function tryJob(
  context: SourcesContext & AttemptContext,
  job: Job,
  show: (doing: string) => void,
): Promise<Turn> {
  const { clock, journal } = context;
  const { source } = job;
  if (job.tries === 0) {
    for (const remark of source.host?.remarks ?? [])
      await journal.note('info', remark, source.name);
  }
  job.tries++;
  const began = clock.now();
  const tried = await attempt(context, job, { step: show, progress: ({ phase }) => show(phase) });
  job.durationMs += clock.now() - began;
  const restMs = isFailure(tried) ? pauseBeforeRetry(tried.fault, job.tries) : null;
  const visit = !isFailure(tried) ? 'good' : tried.fault.isOverload ? 'overloaded' : 'other';
  if (isFailure(tried) && restMs !== null) {
    const next = `try ${job.tries + 1} of ${MAX_TRIES} in ${formatDuration(restMs)}`;
    await journal.note('warn', `${tried.errorMessage} (${next})`, source.name);
    return { visit, restMs };
  }
  const outcome = withTries(tried, job.tries);
  await recordOutcome(journal, source, outcome, job.durationMs);
  context.onEnded(source, outcome);
  return { visit, restMs: null };
}
