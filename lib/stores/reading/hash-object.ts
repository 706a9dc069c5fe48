import { createHash } from 'node:crypto';
import { DecryptionFailed } from '../base/age-payload.ts';
import { ObjectFault } from './object-fault.ts';
import type { StateReading } from './read-state.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** An object as listed. */
interface ListedObject {
  key: string;
  sizeBytes: number;
}

/**
 * The SHA-256 of the bytes stored under a key. Throws ObjectFault if there are none, or more than listed: a response
 * may never end. Also throws StoreFault.
 */
export async function hashObject(reading: StoreReading, object: ListedObject): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readListed(reading, object)) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * The SHA-256 of the bytes stored under a key and, if the identities can decrypt them, of the decrypted content; else
 * null. Throws like `hashObject`.
 */
export async function hashDecrypted(
  reading: StateReading,
  object: ListedObject,
): Promise<{ stored: string; plain: string | null }> {
  const [stored, plain] = [createHash('sha256'), createHash('sha256')];
  const { decrypt } = await import('../base/age-file.ts');
  const chunks = readListed(reading, object);
  const next = async () => {
    const read = await chunks.next();
    if (!read.done) stored.update(read.value);
    return read;
  };
  // Has no `return`, so that a failed decryption does not end it: the rest is still hashed.
  const tapped = { [Symbol.asyncIterator]: () => ({ next }) };
  let isDecrypted = true;
  try {
    for await (const chunk of decrypt(tapped, reading.identities)) plain.update(chunk);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    isDecrypted = false;
    while (!(await next()).done);
  } finally {
    await chunks.return(undefined);
  }
  return { stored: stored.digest('hex'), plain: isDecrypted ? plain.digest('hex') : null };
}

async function* readListed(
  reading: StoreReading,
  { key, sizeBytes }: ListedObject,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of readSteadily(reading, key)) {
    size += chunk.length;
    if (size > sizeBytes) {
      const reason = `is longer than the ${sizeBytes} bytes it is listed with`;
      throw new ObjectFault('damaged', key, reason);
    }
    yield chunk;
  }
}
