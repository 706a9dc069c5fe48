import { createHash } from 'node:crypto';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** The SHA-256 of what is stored under a key. Throws ObjectFault if there is nothing, or StoreFault. */
export async function hashObject(reading: StoreReading, key: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readSteadily(reading, key)) hash.update(chunk);
  return hash.digest('hex');
}
