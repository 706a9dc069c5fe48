import type { Clock } from '../../clock.ts';
import { readDatabaseTime } from '../../records/database-time.ts';
import { formatDuration } from '../../text/units.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from '../archive/versions/version-time.ts';
import type { Journal } from '../record/journal.ts';

/** Each change of a repository triggers a check; clocks do not drift that fast. */
const RECHECK_MS = 60_000;

/** The time for anything that is kept: this machine's clock, unless it was found to be wrong. */
export interface RunTime {
  /** Milliseconds since the epoch, by the database's clock if this machine's differs from it. */
  now(): number;
  /**
   * Compares the two clocks, at most once a minute. Returns how they differ; null if they agree, or if the database has
   * been unreachable since the run began. The run's log reports it once.
   */
  check(): Promise<string | null>;
}

/** Opens the time of a run. Until a check, this machine's clock is trusted. */
export function openRunTime(clock: Clock, { store, note }: Journal): RunTime {
  let correctionMs = 0;
  let difference: string | null = null;
  let isReported = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return {
    now: () => clock.now() + correctionMs,
    async check() {
      if (performance.now() - checkedAt < RECHECK_MS) return difference;
      const time = await store.read<number | null>(readDatabaseTime, () => null);
      if (time === null) return difference;
      checkedAt = performance.now();
      const aheadMs = clock.now() - time;
      const isOff = Math.abs(aheadMs) > MAX_CLOCK_DIFFERENCE_MS;
      correctionMs = isOff ? -aheadMs : 0;
      difference = isOff ? describe(aheadMs) : null;
      if (difference !== null && !isReported) {
        isReported = true;
        await note('warn', `${difference}: versions get the database's time, and none is pruned`);
      }
      return difference;
    },
  };
}

function describe(aheadMs: number): string {
  const where = aheadMs > 0 ? 'ahead of' : 'behind';
  return `the clock of this machine is ${formatDuration(Math.abs(aheadMs))} ${where} the database's`;
}
