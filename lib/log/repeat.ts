import type { Clock } from '../clock.ts';
import type { Log } from './log.ts';

export interface RepeatOptions {
  /** Names the work in the log when it fails. */
  what: string;
  intervalMs: number;
  clock: Clock;
  log: Log;
}

/** Work that repeats until stopped. */
export interface Repeating {
  /** Stops repeating and resolves when the current round is done. */
  stop(): Promise<void>;
}

/**
 * Runs work after each interval until stopped. Failures are logged and do not affect later rounds.
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
