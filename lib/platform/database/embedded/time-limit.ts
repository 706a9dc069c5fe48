import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { FatalError } from './wire-messages.ts';

export interface TimeLimit {
  clock: Clock;
  limitMs: number;
  /** What `end` is called with when the time is over. */
  reason: FatalError;
  end(reason: Error): void;
  /** The limit counts only once this has resolved too. Rejects with the signal's reason. */
  condition?(signal: AbortSignal): Promise<void>;
}

/** Starts a limit, and returns what lifts it. Lifting it twice, or after its end, does nothing. */
export function startTimeLimit({ clock, limitMs, reason, end, condition }: TimeLimit): () => void {
  const lifted = new AbortController();
  const watch = async () => {
    await clock.sleep(limitMs, lifted.signal);
    await condition?.(lifted.signal);
    // A long statement keeps sockets from being read: what came meanwhile came in time.
    await nextRound(undefined, { signal: lifted.signal });
    end(reason);
  };
  watch().catch((error: unknown) => {
    if (!lifted.signal.aborted) end(new Error('a time limit failed', { cause: error }));
  });
  return () => lifted.abort();
}
