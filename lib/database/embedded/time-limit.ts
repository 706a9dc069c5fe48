import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';

const RECHECK_INTERVAL_MS = 1_000;

interface TimeLimit {
  clock: Clock;
  limitMs: number;
  /** Called when the time is up. */
  end(): void;
  /** The limit only applies while this holds. */
  condition?(): boolean;
}

/** Starts a time limit and returns a function that lifts it; calling that more than once is harmless. */
export function startTimeLimit({ clock, limitMs, end, condition }: TimeLimit): () => void {
  const lifted = new AbortController();
  const { signal } = lifted;
  const watch = async () => {
    await clock.sleep(limitMs, signal);
    while (condition?.() === false) await clock.sleep(RECHECK_INTERVAL_MS, signal);
    // Process pending socket events first: what has already arrived was in time.
    await yieldToEventLoop(undefined, { signal });
    end();
  };
  watch().catch(() => undefined); // lifted
  return () => lifted.abort();
}
