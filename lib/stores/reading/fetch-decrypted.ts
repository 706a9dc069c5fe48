import { createHash } from 'node:crypto';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { nullIfMissing, readChunks } from '../../files.ts';
import { CHUNK_BYTES, DecryptionFailed, SEALED_BYTES } from '../base/age-payload.ts';
import { openGathering } from '../base/gathering-file.ts';
import type { StateFile } from '../base/store-state.ts';
import { type OnBytes, otherContent, readExactly, resumeFile } from './fetch-object.ts';
import { hashObject } from './hash-object.ts';
import { ObjectFault, undecrypted } from './object-fault.ts';
import type { StateReading } from './read-state.ts';

/**
 * Downloads an encrypted object and decrypts it on the fly into the file `to`, which must then be the wanted one.
 * `storedSha256` is the SHA-256 of the object. Resumes from what an earlier attempt left: the file, and the object's
 * header beside it. Throws ObjectFault, StoreFault or file system errors.
 */
export async function fetchDecrypted(
  reading: StateReading,
  file: StateFile,
  storedSha256: string,
  to: string,
  onBytes: OnBytes,
): Promise<void> {
  const { key, stored_bytes } = file;
  await resumeFile(key, to, file.size_bytes, async (left) => {
    const fault = await download(reading, file, to, left, onBytes);
    if (fault === null) return;
    // The SHA-256 of the decrypted bytes is the proof. The SHA-256 of the stored bytes only shows whether the header
    // was altered, in which case nothing was downloaded.
    if (left === 0 && fault.kind === 'locked') {
      const stored = await hashObject(reading, { key, sizeBytes: stored_bytes });
      if (stored !== storedSha256) throw otherContent(key, stored, storedSha256);
    }
    throw fault;
  });
  await rm(headerOf(to), { force: true });
}

function headerOf(path: string): string {
  return `${path}.header`;
}

/** Returns the fault of the downloaded file, if any. */
async function download(
  reading: StateReading,
  file: StateFile,
  to: string,
  left: number,
  onBytes: OnBytes,
): Promise<ObjectFault | null> {
  const { key, sha256, size_bytes, stored_bytes } = file;
  const { decrypt } = await import('../base/age-file.ts');
  const { header, firstChunk, from } = await findStart(file, to, left);
  const hash = createHash('sha256');
  let size = firstChunk * CHUNK_BYTES;
  if (size > 0) {
    await truncate(to, size);
    for await (const chunk of readChunks(to)) hash.update(chunk);
    onBytes(from);
  }
  const expected = { key, sizeBytes: stored_bytes };
  const stored = startWith(header, readExactly(reading, expected, from, onBytes));
  const keepHeader = (bytes: Uint8Array) => writeFile(headerOf(to), bytes, { mode: 0o600 });
  const options = size > 0 ? { firstChunk } : { onHeader: keepHeader };
  const plain = await openGathering(to, size > 0 ? 'a' : 'w', size_bytes - size);
  try {
    for await (const chunk of decrypt(stored, reading.identities, options)) {
      hash.update(chunk);
      size += chunk.length;
      await plain.write(chunk);
    }
  } catch (cause) {
    if (!(cause instanceof DecryptionFailed)) throw cause;
    return undecrypted(key, cause);
  } finally {
    await plain.close();
  }
  const found = hash.digest('hex');
  if (found === sha256 && size === size_bytes) return null;
  const reason = `holds another file: its SHA-256 is ${found}, not ${sha256}`;
  return new ObjectFault('damaged', key, reason);
}

/** Where to resume: at a chunk of the file, and a byte of the object. The header is everything before the chunks. */
async function findStart(
  { size_bytes }: StateFile,
  to: string,
  left: number,
): Promise<{ header: Uint8Array; firstChunk: number; from: number }> {
  // The last chunk is always downloaded again: nothing else proves that it is the last.
  const firstChunk = Math.floor(Math.min(left, size_bytes - 1) / CHUNK_BYTES);
  const header = firstChunk > 0 ? await nullIfMissing(readFile(headerOf(to))) : null;
  if (header === null) return { header: Buffer.alloc(0), firstChunk: 0, from: 0 };
  return { header, firstChunk, from: header.length + firstChunk * SEALED_BYTES };
}

async function* startWith(first: Uint8Array, rest: AsyncIterable<Uint8Array>) {
  yield first;
  yield* rest;
}
