import type { Clock } from '../../clock.ts';
import { createHostLimits, type Visit } from './host-limits.ts';

/** How one attempt at a job ended. */
export interface Turn {
  visit: Visit;
  /** Milliseconds to wait before the next attempt; null if the job is done. */
  restMs: number | null;
}

interface JobOptions<Job> {
  /** How many jobs are worked on at once. */
  concurrency: number;
  /** The host that a job contacts; null for none. */
  hostOf(job: Job): string | null;
  clock: Clock;
  /** Ends waiting, and starts no further jobs. */
  signal: AbortSignal;
  /** Called with the first error; must make the other jobs end soon. */
  stop(error: unknown): void;
  /** Makes one attempt at a job. An error stops all jobs. */
  work(job: Job): Promise<Turn>;
  /** Called when nothing else is left to do. True if it did something, after which there may be more jobs. */
  settle?(): Promise<boolean>;
}

/**
 * Works on several jobs of a source at once, and skips those whose host has no room. A job that waits for its next
 * attempt takes up no slot. Resolves when all are done. If one fails or the signal aborts, waits for the jobs under way
 * and throws the first error.
 */
export async function runJobs<Job>(
  source: JobSource<Job>,
  { concurrency, hostOf, clock, signal, stop, work, settle }: JobOptions<Job>,
): Promise<void> {
  signal.throwIfAborted();
  const hosts = createHostLimits(concurrency);
  const rested: Job[] = [];
  const over = Promise.withResolvers<void>();
  let active = 0;
  let resting = 0;
  let taking: 'no' | 'yes' | 'again' = 'no';
  let isWaiting = false;
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
    void next();
  };
  const rest = async (job: Job, ms: number) => {
    resting++;
    await clock.sleep(ms, signal).then(() => rested.unshift(job), fail);
    resting--;
    void next();
  };
  /** Polls a source that may have a job later. */
  const wait = async (ms: number) => {
    isWaiting = true;
    await clock.sleep(ms, signal).catch(fail);
    isWaiting = false;
    void next();
  };
  const take = (): Taken<Job> | Promise<Taken<Job>> => {
    const index = rested.findIndex((job) => hosts.hasRoom(hostOf(job)));
    if (index >= 0) return { job: rested.splice(index, 1)[0] as Job };
    return source.take(hosts.full());
  };
  const mayBegin = () => failure === null && !signal.aborted && active < concurrency;
  const takeAll = async () => {
    while (mayBegin()) {
      const asked = take();
      // A list answers synchronously.
      const taken = asked instanceof Promise ? await asked : asked;
      if (typeof taken === 'object') void begin(taken.job);
      else if (active === 0 && resting === 0 && (await settle?.())) continue;
      else {
        if (taken === 'later' && source.pollMs !== null && !isWaiting) void wait(source.pollMs);
        return;
      }
    }
  };
  const next = async () => {
    if (taking !== 'no') {
      taking = 'again';
      return;
    }
    do {
      taking = 'yes';
      try {
        await takeAll();
      } catch (error) {
        fail(error);
      }
      // Another call may have changed it, which the compiler does not see.
    } while ((taking as string) === 'again' && mayBegin());
    taking = 'no';
    if (active === 0 && resting === 0 && !isWaiting) over.resolve();
  };

  void next();
  await over.promise;
  // Assigned in a callback, which the compiler does not track.
  const first = failure as { error: unknown } | null;
  if (first !== null) throw first.error;
  signal.throwIfAborted();
}

/** The answer of a source: a job, none now but maybe `later`, or no more jobs. */
type Taken<Job> = { job: Job } | 'later' | 'over';

/** Where a run's jobs come from. */
export interface JobSource<Job> {
  /** Takes the next job whose host is not among `fullHosts`. */
  take(fullHosts: readonly string[]): Taken<Job> | Promise<Taken<Job>>;
  /**
   * Milliseconds after which a source without a job is asked again; null if only the end of a job can change its
   * answer.
   */
  pollMs: number | null;
}

/** The jobs of a list, in order. */
export function jobsOf<Job>(
  jobs: readonly Job[],
  hostOf: (job: Job) => string | null,
): JobSource<Job> {
  const left = [...jobs];
  return {
    pollMs: null,
    take(fullHosts) {
      if (left.length === 0) return 'over';
      const index = left.findIndex((job) => {
        const host = hostOf(job);
        return host === null || !fullHosts.includes(host);
      });
      return index < 0 ? 'later' : { job: left.splice(index, 1)[0] as Job };
    },
  };
}
