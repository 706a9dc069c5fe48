import { StoreFault } from './object-store.ts';

/**
 * Makes all operations of a store fail in the same way: with the signal's reason once it has aborted, or with a
 * StoreFault.
 */
interface FaultGuard {
  <Value>(work: () => Promise<Value>): Promise<Value>;
  /** The same bytes; each step of the iteration is guarded. */
  bytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
}

/**
 * `explain` returns the fault for an error, or the error itself if it does not come from the store. `bound` does the
 * work of an operation, but not for ever.
 */
export function createFaultGuard(
  signal: AbortSignal,
  explain: (error: unknown) => unknown,
  bound: <Value>(work: () => Promise<Value>) => Promise<Value> = (work) => work(),
): FaultGuard {
  const guard = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      signal.throwIfAborted();
      return await bound(work);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof StoreFault ? error : await explain(error);
    }
  };
  async function* bytes(chunks: AsyncIterable<Uint8Array>) {
    const iterator = chunks[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await guard(() => iterator.next());
        if (done) return;
        yield value;
      }
    } finally {
      // A reader that waits for the disk can only be left.
      await guard(async () => iterator.return?.());
    }
  }
  return Object.assign(guard, { bytes });
}
