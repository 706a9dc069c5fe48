import { createHash, type Hash } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { nullIfMissing, readChunks } from '../../files.ts';
import { StoreFault } from '../object-store.ts';
import type { ByteReceiver } from './decrypt-stream.ts';
import { ObjectFault } from './object-fault.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** An object as it must be. */
export interface ExpectedObject {
  key: string;
  /** Of what is stored. Null if only the store knows. */
  sha256: string | null;
  sizeBytes: number;
}

/**
 * Downloads an object as it is stored into a file and checks its size and SHA-256, which is returned. Goes on with
 * what an earlier try has left in the file. `onBytes` is called with what has come, and the receiver gets all of it. Throws ObjectFault, StoreFault or
 * file system errors.
 */
export async function fetchObject(
  reading: StoreReading,
  expected: ExpectedObject,
  to: string,
  onBytes: (bytes: number) => void,
  receiver?: ByteReceiver,
): Promise<string> {
  const left = (await nullIfMissing(stat(to)))?.size ?? 0;
  if (left > 0 && left <= expected.sizeBytes) {
    try {
      return await download(reading, expected, to, left, onBytes, receiver);
    } catch (error) {
      // What was left may be damaged, or of an object that has become shorter: from the beginning then.
      if (!(error instanceof ObjectFault) && !isRefusal(error)) throw error;
      if (error instanceof ObjectFault && error.kind === 'missing') throw error;
    }
  }
  await rm(to, { force: true });
  try {
    return await download(reading, expected, to, 0, onBytes, receiver);
  } catch (error) {
    if (error instanceof ObjectFault && error.kind === 'damaged') await rm(to, { force: true });
    if (!isRefusal(error)) throw error;
    // Of this object, and not of the whole store.
    throw new ObjectFault('refused', expected.key, `was refused: ${error.message}`, {
      cause: error,
    });
  }
}

/** The SHA-256 of a file in hexadecimal, and its size; null if there is none. */
export async function hashStored(path: string): Promise<{ sha256: string; size: number } | null> {
  if ((await nullIfMissing(stat(path))) === null) return null;
  const hash = createHash('sha256');
  const size = await feed(hash, path);
  return { sha256: hash.digest('hex'), size };
}

function isRefusal(error: unknown): error is StoreFault {
  return error instanceof StoreFault && (error.kind === 'other' || error.kind === 'denied');
}

async function download(
  reading: StoreReading,
  { key, sha256, sizeBytes }: ExpectedObject,
  to: string,
  from: number,
  onBytes: (bytes: number) => void,
  receiver?: ByteReceiver,
): Promise<string> {
  await receiver?.begin();
  const hash = createHash('sha256');
  let size = from;
  const damaged = (reason: string) => new ObjectFault('damaged', key, reason);
  if (from > 0) {
    await feed(hash, to, receiver);
    onBytes(from);
  }
  if (from < sizeBytes || from === 0) {
    const handle = await open(to, 'a', 0o600);
    try {
      for await (const chunk of readSteadily(reading, key, from)) {
        size += chunk.length;
        if (size > sizeBytes) throw damaged(`is longer than the ${sizeBytes} bytes it must have`);
        hash.update(chunk);
        await Promise.all([handle.writeFile(chunk), receiver?.receive(chunk)]);
        onBytes(chunk.length);
      }
    } finally {
      await handle.close();
    }
  }
  if (size !== sizeBytes) throw damaged(`has ${size} of the ${sizeBytes} bytes it must have`);
  const found = hash.digest('hex');
  if (sha256 !== null && found !== sha256) {
    throw damaged(`has other content than was stored: its SHA-256 is ${found}, not ${sha256}`);
  }
  return found;
}

async function feed(hash: Hash, path: string, receiver?: ByteReceiver): Promise<number> {
  let size = 0;
  for await (const chunk of readChunks(path)) {
    hash.update(chunk);
    await receiver?.receive(chunk);
    size += chunk.length;
  }
  return size;
}
