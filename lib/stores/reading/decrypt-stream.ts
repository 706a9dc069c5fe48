import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { DecryptionFailed } from '../age-payload.ts';
import { ObjectFault } from './object-fault.ts';
import type { StateReading } from './read-state.ts';

const MAX_WAITING_BYTES = 4 * 2 ** 20;
const WRITE_BYTES = 2 ** 20;

/** What was decrypted. */
export interface DecryptedFile {
  sha256: string;
  size: number;
}

/** Receives the bytes of an object while it is downloaded. */
export interface ByteReceiver {
  /** What was received before is forgotten: the object comes from its beginning. */
  begin(): Promise<void>;
  receive(bytes: Uint8Array): Promise<void>;
}

/** Decrypts an object into a file while it comes, so that the network need not wait. */
export interface DecryptStream extends ByteReceiver {
  /** Waits for the rest. Throws ObjectFault if it cannot be decrypted; file system errors. */
  end(): Promise<DecryptedFile>;
  /** Stops, if it has not ended. The file is left. */
  close(): Promise<void>;
}

/** Decrypts the object `key` into the file `to`. */
export function openDecryptStream(reading: StateReading, key: string, to: string): DecryptStream {
  let input: PassThrough | null = null;
  let result: Promise<DecryptedFile> | null = null;
  const close = async () => {
    input?.destroy();
    // Its failure is that of an object which nobody waits for any more.
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
      return result;
    },
  };
}

async function decryptFile(
  { identities, signal }: StateReading,
  key: string,
  stored: AsyncIterable<Uint8Array>,
  to: string,
): Promise<DecryptedFile> {
  const { decrypt } = await import('../cipher.ts');
  const hash = createHash('sha256');
  let size = 0;
  const handle = await open(to, 'w', 0o600);
  try {
    let waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    const write = async () => {
      if (waitingBytes > 0) await handle.writeFile(Buffer.concat(waiting));
      waiting = [];
      waitingBytes = 0;
    };
    for await (const chunk of decrypt(stored, identities)) {
      hash.update(chunk);
      size += chunk.length;
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (waitingBytes >= WRITE_BYTES) await write();
    }
    await write();
  } catch (cause) {
    signal.throwIfAborted();
    if (!(cause instanceof DecryptionFailed)) throw cause;
    const reason = 'cannot be decrypted: it is encrypted for others than this identity';
    throw new ObjectFault('locked', key, reason, { cause });
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest('hex'), size };
}
