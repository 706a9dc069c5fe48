import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

export interface RepeatOptions {
  /** Names the work in the log when it fails. */
  what: string;
  intervalMs: number;
  clock: Clock;
  log: Log;
}

/** Work that comes again and again until it is stopped. */
export interface Repeating {
  /** Resolves when none of it is under way any more. */
  stop(): Promise<void>;
}

/**
 * Does work after each interval until stopped. Work that fails is logged; the next round comes as
 * planned.
 */
export function repeat(work: () => Promise<unknown>, options: RepeatOptions): Repeating {
  const { what, intervalMs, clock, log } = options;
  const stopping = new AbortController();
  const rest = () =>
    clock.sleep(intervalMs, stopping.signal).then(
      () => true,
      () => false, // stopped
    );
  const repeating = (async () => {
    while (await rest()) {
      try {
        await work();
      } catch (error) {
        log.error(`${what} failed`, { error });
      }
    }
  })();
  return {
    stop() {
      stopping.abort();
      return repeating;
    },
  };
}
