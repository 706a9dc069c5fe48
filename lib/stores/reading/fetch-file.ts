import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nullIfMissing } from '../../files.ts';
import { parseKey } from '../layout.ts';
import type { StateFile } from '../store-state.ts';
import { openDecryptStream } from './decrypt-stream.ts';
import { createHashReceiver, fetchObject, hashStored, otherContent } from './fetch-object.ts';
import { ObjectFault } from './object-fault.ts';
import type { StateReading } from './read-state.ts';

/** Where files are downloaded to. */
export interface FetchFolder {
  path: string;
  /** Where what is not complete yet is kept. Exists, on the same disk. */
  parts: string;
}

/**
 * Downloads a file of an archive, decrypts it, and checks its SHA-256 and size. A complete one is kept, and what an
 * earlier try has left is gone on with. Throws ObjectFault, StoreFault or file system errors.
 */
export async function fetchFile(
  reading: StateReading,
  file: StateFile,
  folder: FetchFolder,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { name, key, sha256, size_bytes, stored_bytes } = file;
  const to = join(folder.path, name);
  if (await isThere(to, file)) return onBytes(stored_bytes);
  const parsed = parseKey(key);
  if (parsed?.kind !== 'object') throw new ObjectFault('damaged', key, 'is no object of a file');
  const part = join(folder.parts, createHash('sha256').update(key).digest('hex').slice(0, 32));
  const expected = { key, sizeBytes: stored_bytes };
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  if (!parsed.isEncrypted) {
    const proving = createHashReceiver(key, parsed.sha256);
    await fetchObject(reading, expected, part, proving, onBytes);
    // The bytes are those of the file, whose SHA-256 is its name.
    await rename(part, to);
    return;
  }
  const plain = `${part}.plain`;
  const decrypting = openDecryptStream(reading, key, plain, { sha256, size: size_bytes });
  const end = async () => {
    try {
      await decrypting.end();
    } catch (error) {
      // The SHA-256 of the decrypted bytes is the proof. That of the stored ones only explains a failure.
      const stored = error instanceof ObjectFault ? await hashStored(part) : null;
      if (stored === null || stored.sha256 === parsed.sha256) throw error;
      throw otherContent(key, stored.sha256, parsed.sha256);
    }
  };
  try {
    await fetchObject(reading, expected, part, { ...decrypting, end }, onBytes);
    await rename(plain, to);
  } finally {
    await decrypting.close();
    await rm(plain, { force: true });
  }
  await rm(part, { force: true });
}

/** How many bytes of a file are still to be downloaded, by its size. */
export async function bytesToFetch(
  { name, size_bytes, stored_bytes }: StateFile,
  folder: string,
): Promise<number> {
  const found = await nullIfMissing(stat(join(folder, name)));
  return found?.size === size_bytes ? 0 : stored_bytes;
}

async function isThere(path: string, { sha256, size_bytes }: StateFile): Promise<boolean> {
  const found = await nullIfMissing(stat(path));
  if (found?.size !== size_bytes || !found.isFile()) return false;
  return (await hashStored(path))?.sha256 === sha256;
}
