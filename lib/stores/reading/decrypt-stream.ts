import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { DecryptionFailed } from '../age-payload.ts';
import type { ObjectReceiver } from './fetch-object.ts';
import { openGathering } from './gathering-file.ts';
import { ObjectFault } from './object-fault.ts';
import type { StateReading } from './read-state.ts';

const MAX_WAITING_BYTES = 4 * 2 ** 20;

/** What an object must be decrypted to. */
export interface DecryptedFile {
  sha256: string;
  size: number;
}

/** Decrypts an object into a file while it comes, so that the network need not wait. */
export interface DecryptStream extends ObjectReceiver {
  /** Stops, if it has not ended. The file is left. */
  close(): Promise<void>;
}

/** Decrypts the object `key` into the file `to`, which must then be the wanted one. */
export function openDecryptStream(
  reading: StateReading,
  key: string,
  to: string,
  wanted: DecryptedFile,
): DecryptStream {
  let input: PassThrough | null = null;
  let result: Promise<DecryptedFile> | null = null;
  const close = async () => {
    input?.destroy();
    // Nothing waits for the object any more, so its failure does not matter.
    await result?.catch(() => undefined);
    input = null;
    result = null;
  };
  return {
    close,
    async begin() {
      await close();
      input = new PassThrough({ highWaterMark: MAX_WAITING_BYTES });
      // Destroyed, it ends the iteration with this error, which `result` has.
      input.on('error', () => undefined);
      result = decryptFile(reading, key, input, to);
      // Waited for at the end: first, the download tells whether the object is damaged.
      result.catch(() => input?.destroy());
    },
    async receive(bytes) {
      if (input === null || input.destroyed || input.write(bytes)) return;
      const drained = new AbortController();
      const { signal } = drained;
      await Promise.race([once(input, 'drain', { signal }), result]).catch(() => undefined);
      drained.abort();
    },
    async end() {
      if (result === null) throw new Error('nothing was received');
      input?.end();
      const found = await result;
      if (found.sha256 === wanted.sha256 && found.size === wanted.size) return;
      const reason = `holds another file: its SHA-256 is ${found.sha256}, not ${wanted.sha256}`;
      throw new ObjectFault('damaged', key, reason);
    },
  };
}

async function decryptFile(
  { identities, signal }: StateReading,
  key: string,
  stored: AsyncIterable<Uint8Array>,
  to: string,
): Promise<DecryptedFile> {
  const { decrypt } = await import('../age-cipher.ts');
  const hash = createHash('sha256');
  let size = 0;
  const file = await openGathering(to, 'w');
  try {
    for await (const chunk of decrypt(stored, identities)) {
      hash.update(chunk);
      size += chunk.length;
      await file.write(chunk);
    }
  } catch (cause) {
    signal.throwIfAborted();
    if (!(cause instanceof DecryptionFailed)) throw cause;
    const reason = 'cannot be decrypted: it is encrypted for others than this identity';
    throw new ObjectFault('locked', key, reason, { cause });
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), size };
}
