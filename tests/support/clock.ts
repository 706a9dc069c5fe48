import type { Clock } from '../../lib/clock.ts';

/** A clock that stands still until a test moves it. */
export interface TestClock extends Clock {
  /** Moves time forward and wakes the sleepers that are due, in order. */
  advance(ms: number): void;
  /** The number of current sleepers. */
  sleepers(): number;
}

interface Sleeper {
  wakesAt: number;
  wake(): void;
}

/** Starts at a whole minute of an ordinary day, or at `start`. */
export function createTestClock(start = Date.parse('2026-03-04T05:06:00Z')): TestClock {
  let now = start;
  let sleeping: Sleeper[] = [];
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { wakesAt: now + ms, wake: resolve };
        sleeping.push(sleeper);
        signal?.addEventListener('abort', () => {
          sleeping = sleeping.filter((other) => other !== sleeper);
          reject(signal.reason);
        });
      }),
    advance(ms) {
      now += ms;
      const due = sleeping.filter(({ wakesAt }) => wakesAt <= now);
      sleeping = sleeping.filter(({ wakesAt }) => wakesAt > now);
      for (const { wake } of due.sort((a, b) => a.wakesAt - b.wakesAt)) wake();
    },
    sleepers: () => sleeping.length,
  };
}
