/**
 * A signal that aborts with another until it is let go. For work that is shorter than the other signal's
 * life: what the work hangs on its signal is then not kept for as long.
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
  /** Lets go of the other signal. */
  release(): void;
  /** Aborts this signal alone. */
  abort(reason: unknown): void;
}

/**
 * Resolves as the work does, or rejects with the signal's reason as soon as it aborts: work that does not
 * look at its signal then goes on by itself.
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
