import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';
import type { Cipher } from '../../stores/base/age-file.ts';
import { type ObjectFile, StoreFault } from '../../stores/base/object-store.ts';

const note = z.object({ sha256: z.string(), size_bytes: z.int() });

/** A file ready to be stored. */
export interface OutgoingFile extends ObjectFile {
  /** Removes temporary files made for it. */
  remove(): Promise<void>;
}

/** A file of an archive that will be stored. */
export interface FileToSend {
  path: string;
  /** SHA-256 of the plain file, as the archive's note records it. */
  sha256: string;
}

/**
 * Encrypts a file into a folder, where it stays until it is removed, so that an interrupted upload continues with the
 * same bytes. Throws StoreFault if the file is not the recorded one.
 */
export async function encryptToOutbox(
  folder: string,
  { path, sha256 }: FileToSend,
  cipher: Cipher,
  signal: AbortSignal,
): Promise<OutgoingFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const base = join(folder, sha256);
  const remove = async () => {
    await rm(`${base}.json`, { force: true });
    await rm(`${base}.age`, { force: true });
  };
  const text = await nullIfMissing(readFile(`${base}.json`, 'utf8'));
  const made = note.safeParse(text === null ? null : parseJson(text)).data;
  const found = await nullIfMissing(stat(`${base}.age`));
  if (made !== undefined && found?.size === made.size_bytes) {
    return { path: `${base}.age`, sha256: made.sha256, sizeBytes: made.size_bytes, remove };
  }
  const { encryptFile } = await import('../../stores/base/age-file.ts');
  const encrypted = await encryptFile(path, `${base}.age`, cipher, signal);
  if (encrypted.plainSha256 !== sha256) {
    await remove();
    throw new StoreFault('damaged', `${path} is not the file that was recorded: nothing is stored`);
  }
  const { sizeBytes } = encrypted;
  await replaceFile(
    `${base}.json`,
    JSON.stringify({ sha256: encrypted.sha256, size_bytes: sizeBytes }),
  );
  return { path: `${base}.age`, sha256: encrypted.sha256, sizeBytes, remove };
}

/** Writes text to a file in a folder, ready to be stored. */
export async function writeToOutbox(folder: string, text: string): Promise<OutgoingFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const path = join(folder, sha256);
  await writeFile(path, text, { mode: 0o600 });
  const sizeBytes = Buffer.byteLength(text);
  return { path, sha256, sizeBytes, remove: () => rm(path, { force: true }) };
}
