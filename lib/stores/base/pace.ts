import type { Clock } from '../../clock.ts';

/** Waits before bytes are sent or read, so that a limit holds on average. */
export type Pace = (bytes: number) => Promise<void>;

/** A limit in bytes per second shared by all uses; null for none. Rejects with the signal's reason. */
export function createPace(bytesPerSecond: number | null, clock: Clock, signal: AbortSignal): Pace {
  if (bytesPerSecond === null) return async () => signal.throwIfAborted();
  let freeAt = 0;
  return async (bytes) => {
    const now = clock.now();
    const from = Math.max(freeAt, now);
    freeAt = from + (bytes / bytesPerSecond) * 1_000;
    if (from > now) await clock.sleep(from - now, signal);
    signal.throwIfAborted();
  };
}

/** The same bytes at that pace. */
export async function* paced(
  chunks: AsyncIterable<Uint8Array>,
  pace: Pace,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    await pace(chunk.length);
    yield chunk;
  }
}
