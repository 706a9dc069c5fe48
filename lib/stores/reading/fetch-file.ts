import { createHash } from 'node:crypto';
import { mkdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nullIfMissing, readChunks } from '../../files.ts';
import { parseKey } from '../base/layout.ts';
import type { StateFile } from '../base/store-state.ts';
import { fetchDecrypted } from './fetch-decrypted.ts';
import { fetchObject, type OnBytes } from './fetch-object.ts';
import { ObjectFault } from './object-fault.ts';
import type { StateReading } from './read-state.ts';

/** The folders for downloads. */
export interface FetchFolder {
  path: string;
  /** Where incomplete files are kept. Exists, and is on the same disk. */
  parts: string;
}

/**
 * Downloads a file of an archive, decrypts it, and checks its SHA-256 and size. Keeps a complete file, and resumes an
 * incomplete one. Throws ObjectFault, StoreFault or file system errors.
 */
export async function fetchFile(
  reading: StateReading,
  file: StateFile,
  folder: FetchFolder,
  onBytes: OnBytes,
): Promise<void> {
  const { name, key, stored_bytes } = file;
  const to = join(folder.path, name);
  if (await isThere(to, file)) return onBytes(stored_bytes);
  const parsed = parseKey(key);
  if (parsed?.kind !== 'object') throw new ObjectFault('damaged', key, 'is not the key of a file');
  const part = join(folder.parts, createHash('sha256').update(key).digest('hex').slice(0, 32));
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  if (parsed.isEncrypted) await fetchDecrypted(reading, file, parsed.sha256, part, onBytes);
  else {
    // The bytes are those of the file, and its SHA-256 is their name.
    const expected = { key, sizeBytes: stored_bytes, sha256: parsed.sha256 };
    await fetchObject(reading, expected, part, onBytes);
  }
  await rename(part, to);
}

/** How many bytes of a file remain to be downloaded, judging by its size. */
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
  const hash = createHash('sha256');
  for await (const chunk of readChunks(path)) hash.update(chunk);
  return hash.digest('hex') === sha256;
}
