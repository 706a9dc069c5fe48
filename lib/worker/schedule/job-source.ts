/** What a source has: a job, none now but maybe `later`, or none any more. */
export type Taken<Job> = { job: Job } | 'later' | 'over';

/** Where a run's jobs come from. */
export interface JobSource<Job> {
  /** Takes the next job whose host is not among `fullHosts`. */
  take(fullHosts: readonly string[]): Taken<Job> | Promise<Taken<Job>>;
  /** Milliseconds after which one that had no job is asked again; null if only the end of a job can change that. */
  pollMs: number | null;
}

/** The jobs of a list, in its order. */
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
