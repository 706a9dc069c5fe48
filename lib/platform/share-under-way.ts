import type { Clock } from './clock.ts';

/**
 * Work that whoever asks while it is under way shares, so that any number of callers cost no more than one.
 * What has gone on for `maxMs` is no longer waited for: the next caller begins anew.
 */
export function shareUnderWay<Value>(
  work: () => Promise<Value>,
  { clock, maxMs }: { clock: Clock; maxMs: number },
): () => Promise<Value> {
  let shared: { startedAt: number; outcome: Promise<Value> } | null = null;
  return () => {
    if (shared === null || clock.now() - shared.startedAt >= maxMs) {
      const mine = {
        startedAt: clock.now(),
        outcome: work().finally(() => {
          if (shared === mine) shared = null;
        }),
      };
      shared = mine;
    }
    return shared.outcome;
  };
}
