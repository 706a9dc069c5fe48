import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { nullIfMissing, readChunks } from '../../files.ts';
import { openGathering } from '../base/gathering-file.ts';
import { isRefusal, ObjectFault, withObject } from './object-fault.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** The expected properties of an object. */
export interface ExpectedObject {
  key: string;
  sizeBytes: number;
}

/** Called with the number of bytes that have arrived since the last call. */
export type OnBytes = (bytes: number) => void;

/**
 * Downloads an object as stored into a file and returns its SHA-256, which must match `expected.sha256` unless that is
 * null because only the store knows it. Resumes from what an earlier attempt left in the file. Throws ObjectFault,
 * StoreFault or file system errors.
 */
export async function fetchObject(
  reading: StoreReading,
  expected: ExpectedObject & { sha256: string | null },
  to: string,
  onBytes: OnBytes,
): Promise<string> {
  const { key, sizeBytes, sha256 } = expected;
  return resumeFile(key, to, sizeBytes, async (left) => {
    const found = await download(reading, expected, to, left, onBytes);
    if (sha256 !== null && found !== sha256) throw otherContent(key, found, sha256);
    return found;
  });
}

/**
 * Downloads the object `key` into a file, which gets at most `maxBytes`. `work` gets the size of the partial file, and
 * is called again with an empty file if that is unusable.
 */
export async function resumeFile<Result>(
  key: string,
  path: string,
  maxBytes: number,
  work: (left: number) => Promise<Result>,
): Promise<Result> {
  const left = (await nullIfMissing(stat(path)))?.size ?? 0;
  if (left > 0 && left <= maxBytes) {
    try {
      return await work(left);
    } catch (error) {
      // The partial file may be damaged, or the object may have become shorter: start over.
      if (!isUnfit(error) && !isRefusal(error)) throw error;
    }
  }
  await rm(path, { force: true });
  try {
    return await withObject(key, () => work(0));
  } catch (error) {
    if (isUnfit(error)) await rm(path, { force: true });
    throw error;
  }
}

/**
 * The bytes of an object from an offset. Throws ObjectFault if the object does not have the expected size, or
 * StoreFault.
 */
export async function* readExactly(
  reading: StoreReading,
  { key, sizeBytes }: ExpectedObject,
  from: number,
  onBytes: OnBytes,
): AsyncGenerator<Uint8Array> {
  const damaged = (reason: string) => new ObjectFault('damaged', key, reason);
  let size = from;
  for await (const chunk of readSteadily(reading, key, from)) {
    size += chunk.length;
    if (size > sizeBytes) throw damaged(`is longer than the ${sizeBytes} bytes it must have`);
    yield chunk;
    onBytes(chunk.length);
  }
  if (size !== sizeBytes) throw damaged(`has ${size} of the ${sizeBytes} bytes it must have`);
}

/** The fault of an object that was replaced or altered. */
export function otherContent(key: string, found: string, wanted: string): ObjectFault {
  const reason = `has other content than was stored: its SHA-256 is ${found}, not ${wanted}`;
  return new ObjectFault('damaged', key, reason);
}

function isUnfit(error: unknown): boolean {
  return error instanceof ObjectFault && (error.kind === 'damaged' || error.kind === 'locked');
}

async function download(
  reading: StoreReading,
  expected: ExpectedObject,
  to: string,
  from: number,
  onBytes: OnBytes,
): Promise<string> {
  const { sizeBytes } = expected;
  const hash = createHash('sha256');
  if (from > 0) {
    for await (const chunk of readChunks(to)) hash.update(chunk);
    onBytes(from);
  }
  if (from < sizeBytes || from === 0) {
    const file = await openGathering(to, 'a', sizeBytes - from);
    try {
      for await (const chunk of readExactly(reading, expected, from, onBytes)) {
        hash.update(chunk);
        await file.write(chunk);
      }
    } finally {
      await file.close();
    }
  }
  return hash.digest('hex');
}
