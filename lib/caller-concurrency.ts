import pLimit, { type LimitFunction } from 'p-limit';
import { AppError } from './errors.ts';

/** Runs work within the limits. Rejects with the signal's reason if it aborts before the work starts. */
type CallerLimit = <Result>(
  caller: string,
  signal: AbortSignal,
  work: () => Promise<Result>,
) => Promise<Result>;

/**
 * Limits concurrency to `total`, and to `perCaller` for one caller, so that others get a turn. Throws RATE_LIMITED if
 * `maxWaiting` calls of the caller already wait.
 */
export function createCallerLimit({
  total,
  perCaller,
  maxWaiting = Number.POSITIVE_INFINITY,
}: {
  total: number;
  perCaller: number;
  maxWaiting?: number;
}): CallerLimit {
  const limitAll = pLimit(total);
  const callers = new Map<string, { limit: LimitFunction; waiting: number }>();

  return async (name, signal, work) => {
    signal.throwIfAborted();
    const caller = callers.get(name) ?? { limit: pLimit(perCaller), waiting: 0 };
    const { limit } = caller;
    if (caller.waiting >= maxWaiting) {
      const message = `${maxWaiting} of your calls already wait for their turn: send fewer at a time`;
      throw new AppError('RATE_LIMITED', message, { headers: { 'Retry-After': RETRY_AFTER } });
    }
    callers.set(name, caller);
    caller.waiting++;
    const waiting = new AbortController();
    waiting.signal.addEventListener('abort', () => caller.waiting--, { once: true });
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.abort();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { signal: waiting.signal });
      const start = () => {
        signal.throwIfAborted();
        waiting.abort();
        return work();
      };
      limit(() => limitAll(start))
        .finally(() => {
          waiting.abort();
          if (limit.activeCount + limit.pendingCount <= 1) callers.delete(name);
        })
        .then(resolve, reject);
    });
  };
}

/** In seconds. */
const RETRY_AFTER = '5';
