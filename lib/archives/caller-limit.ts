import pLimit, { type LimitFunction } from 'p-limit';

/** Runs work within the limits; rejects with the signal's reason when it aborts before the work starts. */
export type CallerLimit = <Result>(
  caller: string,
  signal: AbortSignal,
  work: () => Promise<Result>,
) => Promise<Result>;

/** Limits work to `total` at once, of which one caller has at most `perCaller`, so that others get a turn. */
export function createCallerLimit({
  total,
  perCaller,
}: {
  total: number;
  perCaller: number;
}): CallerLimit {
  const limitAll = pLimit(total);
  const limits = new Map<string, LimitFunction>();

  return async (caller, signal, work) => {
    signal.throwIfAborted();
    const limitCaller = limits.get(caller) ?? pLimit(perCaller);
    limits.set(caller, limitCaller);
    const waiting = new AbortController();
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { signal: waiting.signal });
      const start = () => {
        signal.throwIfAborted();
        waiting.abort();
        return work();
      };
      limitCaller(() => limitAll(start))
        .finally(() => {
          waiting.abort();
          if (limitCaller.activeCount + limitCaller.pendingCount <= 1) limits.delete(caller);
        })
        .then(resolve, reject);
    });
  };
}
