import type { Clock } from '../../clock.ts';
import { type ObjectStore, StoreFault } from '../base/object-store.ts';
import { ObjectFault } from './object-fault.ts';

/** The pauses before an object is requested again. They start over whenever bytes have arrived. */
const PAUSES_MS = [1_000, 4_000, 15_000];

/** What is needed to read from a store. */
export interface StoreReading {
  objects: ObjectStore;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * The bytes of an object from an offset. Resumes where it was cut off. Throws ObjectFault if the object is missing, or
 * StoreFault.
 */
export async function* readSteadily(
  { objects, clock, signal }: StoreReading,
  key: string,
  from = 0,
): AsyncGenerator<Uint8Array> {
  let position = from;
  for (let failures = 0; ; ) {
    try {
      const bytes = await objects.read(key, position);
      if (bytes === null) throw new ObjectFault('missing', key, 'is missing');
      for await (const chunk of bytes) {
        position += chunk.length;
        failures = 0;
        yield chunk;
      }
      return;
    } catch (error) {
      if (error instanceof StoreFault && error.kind === 'damaged') {
        throw new ObjectFault('damaged', key, `cannot be read: ${error.message}`, { cause: error });
      }
      const pause = PAUSES_MS[failures++];
      if (!isAway(error) || pause === undefined) throw error;
      await clock.sleep(pause, signal);
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof StoreFault && error.kind === 'away';
}
