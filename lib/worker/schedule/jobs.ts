import type { Clock } from '../../clock.ts';
import { createHostLimits, type Visit } from './host-limits.ts';

/** How one try of a job ended. */
export interface Turn {
  visit: Visit;
  /** Milliseconds to rest before the next try; null if the job is done. */
  restMs: number | null;
}

export interface JobOptions<Job> {
  /** How many jobs are worked on at once. */
  concurrency: number;
  /** The host that a job asks; null if it asks none. */
  hostOf(job: Job): string | null;
  clock: Clock;
  /** Ends rests and starts no further job. */
  signal: AbortSignal;
  /** Called with the first error; must make the other jobs end soon. */
  stop(error: unknown): void;
  /** Tries a job once. An error stops all jobs. */
  work(job: Job): Promise<Turn>;
}

/**
 * Works on jobs in their order, several at once, and passes over those whose host has no room. A job that rests
 * before its next try occupies no place. Resolves when all are done. If one fails or the signal aborts, waits
 * for those that have begun and throws the first error.
 */
export async function runJobs<Job>(
  jobs: readonly Job[],
  { concurrency, hostOf, clock, signal, stop, work }: JobOptions<Job>,
): Promise<void> {
  signal.throwIfAborted();
  const hosts = createHostLimits(concurrency);
  const ready = [...jobs];
  const over = Promise.withResolvers<void>();
  let active = 0;
  let resting = 0;
  let failure: { error: unknown } | null = null;

  const fail = (error: unknown) => {
    if (failure !== null) return;
    failure = { error };
    stop(error);
  };
  const begin = async (job: Job) => {
    const leave = hosts.enter(hostOf(job));
    active++;
    let turn: Turn = { visit: 'other', restMs: null };
    try {
      turn = await work(job);
    } catch (error) {
      fail(error);
    }
    active--;
    leave(turn.visit);
    if (turn.restMs !== null && failure === null) void rest(job, turn.restMs);
    next();
  };
  const rest = async (job: Job, ms: number) => {
    resting++;
    try {
      await clock.sleep(ms, signal);
      ready.unshift(job);
    } catch (error) {
      fail(error);
    }
    resting--;
    next();
  };
  const next = () => {
    while (failure === null && !signal.aborted && active < concurrency) {
      const index = ready.findIndex((job) => hosts.hasRoom(hostOf(job)));
      if (index < 0) break;
      void begin(...(ready.splice(index, 1) as [Job]));
    }
    if (active === 0 && resting === 0) over.resolve();
  };

  next();
  await over.promise;
  // Assigned in a callback, which the compiler does not follow.
  const first = failure as { error: unknown } | null;
  if (first !== null) throw first.error;
  signal.throwIfAborted();
}
