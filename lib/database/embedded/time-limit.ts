import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { FatalError } from './wire-messages.ts';

export interface TimeLimit {
  clock: Clock;
  limitMs: number;
  /** Passed to `end` when the time is up. */
  reason: FatalError;
  end(reason: Error): void;
  /** The limit only applies once this has resolved too. Rejects with the signal's reason. */
  condition?(signal: AbortSignal): Promise<void>;
}

/** Starts a time limit and returns a function that lifts it; calling that more than once is harmless. */
export function startTimeLimit({ clock, limitMs, reason, end, condition }: TimeLimit): () => void {
  const lifted = new AbortController();
  const watch = async () => {
    await clock.sleep(limitMs, lifted.signal);
    await condition?.(lifted.signal);
    // Process pending socket events first: what has already arrived was in time.
    await yieldToEventLoop(undefined, { signal: lifted.signal });
    end(reason);
  };
  watch().catch((error: unknown) => {
    if (!lifted.signal.aborted) end(new Error('a time limit failed', { cause: error }));
  });
  return () => lifted.abort();
}
