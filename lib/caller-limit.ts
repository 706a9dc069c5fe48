import pLimit, { type LimitFunction } from 'p-limit';

/** Runs work within the limits. Rejects with the signal's reason if it aborts before the work starts. */
type CallerLimit = <Result>(
  caller: string,
  signal: AbortSignal,
  work: () => Promise<Result>,
) => Promise<Result>;

/** Limits concurrency to `total`, and to `perCaller` for one caller, so that others get a turn. */
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
