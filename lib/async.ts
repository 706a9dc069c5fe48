import { onOwnBehalf } from './caller.ts';
import type { Clock } from './clock.ts';

/**
 * Calls `make` once and returns its value to every caller. A failure is not cached: the next call tries again.
 */
export function loadOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => {
    if (made !== null) return made;
    const making = onOwnBehalf(make);
    making.catch(() => {
      made = null;
    });
    made = making;
    return making;
  };
}

/**
 * Shares work in flight between concurrent callers. Work older than `maxMs` is no longer shared: the next
 * caller starts again.
 */
export function shareInFlight<Value>(
  work: () => Promise<Value>,
  { clock, maxMs }: { clock: Clock; maxMs: number },
): () => Promise<Value> {
  let shared: { startedAt: number; outcome: Promise<Value> } | null = null;
  return () => {
    if (shared === null || clock.now() - shared.startedAt >= maxMs) {
      const mine = {
        startedAt: clock.now(),
        outcome: onOwnBehalf(work).finally(() => {
          if (shared === mine) shared = null;
        }),
      };
      shared = mine;
    }
    return shared.outcome;
  };
}

/** Tracks background work, so that a process can wait for it before it ends. */
export class PendingWork {
  readonly #works = new Set<Promise<void>>();

  /** Tracks work. The caller handles its failure. */
  readonly add = (work: Promise<unknown>): void => {
    const ending: Promise<void> = work.then(
      () => this.#leave(ending),
      () => this.#leave(ending),
    );
    this.#works.add(ending);
  };

  /** Resolves when no work is left. */
  async settled(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works);
  }

  #leave(ending: Promise<void>): void {
    this.#works.delete(ending);
  }
}

/**
 * A signal that follows another until released. Keeps the listeners of short-lived work from accumulating on a
 * long-lived signal.
 */
export function linkSignal(to: AbortSignal): LinkedSignal {
  const own = new AbortController();
  const follow = () => own.abort(to.reason);
  if (to.aborted) follow();
  else to.addEventListener('abort', follow);
  return {
    signal: own.signal,
    release: () => to.removeEventListener('abort', follow),
    abort: (reason) => own.abort(reason),
  };
}

export interface LinkedSignal {
  signal: AbortSignal;
  /** Stops following the other signal. */
  release(): void;
  /** Aborts only this signal. */
  abort(reason: unknown): void;
}

/**
 * Settles like the work, or rejects with the signal's reason as soon as it aborts, even if the work ignores
 * its signal.
 */
export async function orAborted<Value>(
  to: AbortSignal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  to.throwIfAborted();
  const { signal, release } = linkSignal(to);
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work(signal), aborted]).finally(release);
}

/** Settles like the work, or rejects after `ms` milliseconds, by default with a plain error. */
export async function within<Value>(
  ms: number,
  work: Promise<Value>,
  clock: Clock,
  late = () => new Error(`no answer within ${ms} ms`),
): Promise<Value> {
  const done = new AbortController();
  const expiry = clock.sleep(ms, done.signal).then(() => {
    throw late();
  });
  try {
    return await Promise.race([work, expiry]);
  } finally {
    done.abort();
  }
}
