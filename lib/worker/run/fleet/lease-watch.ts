import type { Clock } from '../../../clock.ts';
import { JOB_LEASE_MS } from '../../../records/fleet/members.ts';
import { RunStopped } from '../../base/stop.ts';

/** Allows for the write itself, and for clocks that run at different speeds. */
const MARGIN_MS = 30_000;

/** A time on both clocks of this machine: one may stop while it sleeps, the other may be set back. */
interface Moment {
  clock: number;
  monotonic: number;
}

/** Tracks how long this worker holds its jobs, without asking the database. */
export interface LeaseWatch {
  now(): Moment;
  /** The lease was renewed by a statement that was sent at this time. */
  renewed(at: Moment): void;
  /** Throws RunStopped if the lease may have ended, for example because the process was suspended. */
  check(): void;
}

/** Starts with a lease that was taken just now. */
export function watchLease(
  { now }: Pick<Clock, 'now'>,
  monotonic: () => number = () => performance.now(),
): LeaseWatch {
  const read = () => ({ clock: now(), monotonic: monotonic() });
  let renewed = read();
  return {
    now: read,
    renewed(at) {
      renewed = at;
    },
    check() {
      const at = read();
      const age = Math.max(at.clock - renewed.clock, at.monotonic - renewed.monotonic);
      if (age < JOB_LEASE_MS - MARGIN_MS) return;
      throw new RunStopped(
        'this worker has not renewed its lease in time: others may have taken over its repositories',
      );
    },
  };
}
