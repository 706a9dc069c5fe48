import { createHash } from 'node:crypto';
import { ObjectFault } from './object-fault.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/**
 * The SHA-256 of what is stored under a key. Throws ObjectFault if there is nothing, or more than was listed: an answer
 * need not end. Throws StoreFault too.
 */
export async function hashObject(
  reading: StoreReading,
  { key, sizeBytes }: { key: string; sizeBytes: number },
): Promise<string> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of readSteadily(reading, key)) {
    size += chunk.length;
    if (size > sizeBytes) {
      throw new ObjectFault(
        'damaged',
        key,
        `is longer than the ${sizeBytes} bytes it is listed with`,
      );
    }
    hash.update(chunk);
  }
  return hash.digest('hex');
}
