import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Decrypter, Encrypter } from 'age-encryption';
import { ConfigError } from '../config/read.ts';
import { syncFile } from '../durable-files.ts';

const CHUNK_BYTES = 2 ** 20;

/** An encrypted file. */
export interface EncryptedFile {
  /** Of the encrypted bytes. */
  sha256: string;
  sizeBytes: number;
  /** Of the bytes before. */
  plainSha256: string;
}

/** Throws ConfigError if a recipient is not valid. */
export function createEncrypter(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (cause) {
      throw new ConfigError('BACKUP_AGE_RECIPIENTS has a recipient that is not valid', { cause });
    }
  }
  return encrypter;
}

/** Encrypts a file with age into a new file, which only the recipients' identities can decrypt. */
export async function encryptFile(
  from: string,
  to: string,
  encrypter: Encrypter,
  signal: AbortSignal,
): Promise<EncryptedFile> {
  const plain = createHash('sha256');
  const encrypted = createHash('sha256');
  const input = webStream(readHashed(from, plain, signal));
  const sizeBytes = await writeFrom(await encrypter.encrypt(input), to, (chunk) => {
    encrypted.update(chunk);
  });
  return { sha256: encrypted.digest('hex'), sizeBytes, plainSha256: plain.digest('hex') };
}

/** Text that cannot be decrypted, or was altered. */
export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed';
}

/** Decrypts bytes with any of the identities (`AGE-SECRET-KEY-…`). Its iteration throws DecryptionFailed. */
export async function* decrypt(
  bytes: AsyncIterable<Uint8Array>,
  identities: readonly string[],
): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  let fault: unknown;
  const watched = async function* () {
    try {
      yield* bytes;
    } catch (error) {
      fault = error;
      throw error;
    }
  };
  try {
    yield* (await decrypter.decrypt(webStream(watched()))) as AsyncIterable<Uint8Array>;
  } catch (error) {
    // Of the source rather than of the text.
    if (fault !== undefined) throw fault;
    throw new DecryptionFailed((error as Error).message, { cause: error });
  }
}

async function* readHashed(
  path: string,
  hash: ReturnType<typeof createHash>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal });
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Writes and syncs a new file, and returns its size. */
async function writeFrom(
  bytes: AsyncIterable<Uint8Array>,
  to: string,
  onChunk: (chunk: Uint8Array) => void,
): Promise<number> {
  const handle = await open(to, 'w', 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      onChunk(chunk);
      await handle.writeFile(chunk);
      size += chunk.length;
    }
  } finally {
    await handle.close();
  }
  await syncFile(to);
  return size;
}

function webStream(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(bytes) as ReadableStream<Uint8Array>;
}
