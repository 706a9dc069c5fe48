/** Too early for an estimate. */
const MIN_ELAPSED_MS = 5_000;

/** Estimates when a run will end. */
export interface TimeLeft {
  /** Notes that a repository is done. */
  done(repository: string): void;
  /** Milliseconds; null if it is too early to say. Others have done so much more: 2 is as much again. Default: 1. */
  estimate(elapsedMs: number, factor?: number): number | null;
}

/**
 * Takes the last duration of each repository as its share of the run. One without a duration counts like the
 * mean of the others.
 */
export function createTimeLeft(
  repositories: readonly string[],
  durations: ReadonlyMap<string, number>,
): TimeLeft {
  const known = repositories.flatMap((name) => durations.get(name) ?? []);
  const mean = known.length === 0 ? 1 : known.reduce((sum, ms) => sum + ms, 0) / known.length;
  const share = (name: string) => Math.max(1, durations.get(name) ?? mean);
  const all = repositories.reduce((sum, name) => sum + share(name), 0);
  let over = 0;
  return {
    done(repository) {
      over += share(repository);
    },
    estimate(elapsedMs, factor = 1) {
      if (elapsedMs < MIN_ELAPSED_MS || over === 0) return null;
      const overByAll = over * factor;
      return (elapsedMs * Math.max(0, all - overByAll)) / overByAll;
    },
  };
}
