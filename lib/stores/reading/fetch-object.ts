import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { nullIfMissing, readChunks } from '../../files.ts';
import { StoreFault } from '../object-store.ts';
import { openGathering } from './gathering-file.ts';
import { ObjectFault } from './object-fault.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** An object as it must be. */
export interface ExpectedObject {
  key: string;
  sizeBytes: number;
}

/** Receives the bytes of an object while it is downloaded, and proves that they are the right ones. */
export interface ObjectReceiver {
  /** What was received before is forgotten: the object comes from its beginning. */
  begin(): Promise<void>;
  receive(bytes: Uint8Array): Promise<void>;
  /** All has come. Throws ObjectFault if it is not what it must be. */
  end(): Promise<void>;
}

/**
 * Downloads an object as it is stored into a file and checks its size; the receiver gets all of it, and checks the
 * rest. Goes on with what an earlier try has left in the file. `onBytes` is called with what has come. Throws
 * ObjectFault, StoreFault or file system errors.
 */
export async function fetchObject(
  reading: StoreReading,
  expected: ExpectedObject,
  to: string,
  receiver: ObjectReceiver,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const left = (await nullIfMissing(stat(to)))?.size ?? 0;
  if (left > 0 && left <= expected.sizeBytes) {
    try {
      return await download(reading, expected, to, left, receiver, onBytes);
    } catch (error) {
      // What was left may be damaged, or of an object that has become shorter: from the beginning then.
      const isOfWhatWasLeft = error instanceof ObjectFault && error.kind === 'damaged';
      if (!isOfWhatWasLeft && !isRefusal(error)) throw error;
    }
  }
  await rm(to, { force: true });
  try {
    return await download(reading, expected, to, 0, receiver, onBytes);
  } catch (error) {
    if (error instanceof ObjectFault && error.kind === 'damaged') await rm(to, { force: true });
    if (!isRefusal(error)) throw error;
    // Of this object, and not of the whole store.
    throw new ObjectFault('refused', expected.key, `was refused: ${error.message}`, {
      cause: error,
    });
  }
}

/** Proves an object by the SHA-256 of what is stored, which `sha256` tells afterwards. Null: only the store knows it. */
export function createHashReceiver(
  key: string,
  wanted: string | null,
): ObjectReceiver & { sha256(): string } {
  let hash = createHash('sha256');
  let found = '';
  return {
    sha256: () => found,
    async begin() {
      hash = createHash('sha256');
    },
    async receive(bytes) {
      hash.update(bytes);
    },
    async end() {
      found = hash.digest('hex');
      if (wanted !== null && found !== wanted) throw otherContent(key, found, wanted);
    },
  };
}

/** The fault of an object that was replaced or altered. */
export function otherContent(key: string, found: string, wanted: string): ObjectFault {
  const reason = `has other content than was stored: its SHA-256 is ${found}, not ${wanted}`;
  return new ObjectFault('damaged', key, reason);
}

/** The SHA-256 of a file in hexadecimal, and its size; null if there is none. */
export async function hashStored(path: string): Promise<{ sha256: string; size: number } | null> {
  if ((await nullIfMissing(stat(path))) === null) return null;
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of readChunks(path)) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest('hex'), size };
}

function isRefusal(error: unknown): error is StoreFault {
  return error instanceof StoreFault && (error.kind === 'other' || error.kind === 'denied');
}

async function download(
  reading: StoreReading,
  { key, sizeBytes }: ExpectedObject,
  to: string,
  from: number,
  receiver: ObjectReceiver,
  onBytes: (bytes: number) => void,
): Promise<void> {
  await receiver.begin();
  const damaged = (reason: string) => new ObjectFault('damaged', key, reason);
  if (from > 0) {
    for await (const chunk of readChunks(to)) await receiver.receive(chunk);
    onBytes(from);
  }
  let size = from;
  if (from < sizeBytes || from === 0) {
    const file = await openGathering(to, 'a');
    try {
      for await (const chunk of readSteadily(reading, key, from)) {
        size += chunk.length;
        if (size > sizeBytes) throw damaged(`is longer than the ${sizeBytes} bytes it must have`);
        await Promise.all([file.write(chunk), receiver.receive(chunk)]);
        onBytes(chunk.length);
      }
    } finally {
      await file.close();
    }
  }
  if (size !== sizeBytes) throw damaged(`has ${size} of the ${sizeBytes} bytes it must have`);
  await receiver.end();
}
