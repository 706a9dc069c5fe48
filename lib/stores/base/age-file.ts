import { createHash, type Hash, randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { Decrypter, Encrypter } from 'age-encryption';
import { ConfigError } from '../../config/read.ts';
import { readChunks } from '../../files.ts';
import { DecryptionFailed, openPayload, PAYLOAD_NONCE_BYTES, sealPayload } from './age-payload.ts';
import { openGathering } from './gathering-file.ts';

/** What the library adds to a header for empty text: a nonce and a tag. */
const EMPTY_PAYLOAD_BYTES = PAYLOAD_NONCE_BYTES + 16;
/** Enough for hundreds of recipients. */
const MAX_HEADER_BYTES = 256 * 2 ** 10;

/** Encrypts for some recipients. */
export interface Cipher {
  /** Yields the encrypted bytes of a file. Each piece is overwritten by the next. */
  encrypt(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** Only the recipients' identities can decrypt. Throws ConfigError if a recipient is not valid. */
export function createCipher(recipients: readonly string[]): Cipher {
  checkRecipients(recipients);
  return {
    async *encrypt(bytes) {
      const { header, fileKey } = await makeHeader(recipients);
      yield header;
      const nonce = randomBytes(PAYLOAD_NONCE_BYTES);
      yield nonce;
      yield* sealPayload(fileKey, nonce, bytes);
    },
  };
}

function checkRecipients(recipients: readonly string[]): void {
  for (const recipient of recipients) {
    try {
      new Encrypter().addRecipient(recipient);
    } catch (cause) {
      throw new ConfigError('BACKUP_AGE_RECIPIENTS has a recipient that is not valid', { cause });
    }
  }
}

/** Creates the header of a new file, and its key. */
async function makeHeader(
  recipients: readonly string[],
): Promise<{ header: Uint8Array; fileKey: Uint8Array }> {
  const encrypter = new Encrypter();
  let fileKey = new Uint8Array();
  // A fake recipient that adds nothing to the header, but receives the key.
  encrypter.addRecipient({
    wrapFileKey(key) {
      fileKey = key.slice();
      return [];
    },
  });
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  const empty = await encrypter.encrypt(new Uint8Array());
  return { header: empty.subarray(0, -EMPTY_PAYLOAD_BYTES), fileKey };
}

/** An encrypted file. */
export interface EncryptedFile {
  /** SHA-256 of the encrypted bytes. */
  sha256: string;
  sizeBytes: number;
  /** SHA-256 of the plain bytes. */
  plainSha256: string;
}

/** Encrypts a file into a new one, which is not synced: reading it checks it again. */
export async function encryptFile(
  from: string,
  to: string,
  cipher: Cipher,
  signal: AbortSignal,
): Promise<EncryptedFile> {
  const plain = createHash('sha256');
  const encrypted = createHash('sha256');
  let sizeBytes = 0;
  const { size } = await stat(from);
  const target = await openGathering(to, 'w', size);
  try {
    for await (const chunk of cipher.encrypt(hashed(readChunks(from), plain, signal))) {
      encrypted.update(chunk);
      sizeBytes += chunk.length;
      await target.write(chunk);
    }
  } finally {
    await target.close();
  }
  return { sha256: encrypted.digest('hex'), sizeBytes, plainSha256: plain.digest('hex') };
}

/** The same chunks, each added to the hash. */
async function* hashed(
  chunks: AsyncIterable<Buffer>,
  hash: Hash,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    hash.update(chunk);
    yield chunk;
  }
}

export interface DecryptOptions {
  /** The chunk that the bytes after the header begin with, counted from 0. */
  firstChunk?: number;
  /** Called with the header and the nonce after it once an identity matches. */
  onHeader?(header: Uint8Array): Promise<void>;
}

/** Decrypts bytes with any of the identities (`AGE-SECRET-KEY-…`). Iterating throws DecryptionFailed. */
export async function* decrypt(
  bytes: AsyncIterable<Uint8Array>,
  identities: readonly string[],
  { firstChunk = 0, onHeader }: DecryptOptions = {},
): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  let isLocked = false;
  // A fake identity that decrypts nothing and is tried after all others.
  decrypter.addIdentity({
    unwrapFileKey() {
      isLocked = true;
      return null;
    },
  });
  const chunks = bytes[Symbol.asyncIterator]();
  try {
    const { header, nonce, rest } = await readHeader(chunks);
    let fileKey: Uint8Array;
    try {
      fileKey = await decrypter.decryptHeader(header);
    } catch (cause) {
      throw new DecryptionFailed((cause as Error).message, { cause, isLocked });
    }
    await onHeader?.(Buffer.concat([header, nonce]));
    yield* openPayload(fileKey, nonce, followedBy(rest, chunks), firstChunk);
  } finally {
    await chunks.return?.();
  }
}

/** Reads to the end of the nonce. */
async function readHeader(
  chunks: AsyncIterator<Uint8Array>,
): Promise<{ header: Uint8Array; nonce: Uint8Array; rest: Uint8Array }> {
  let read = Buffer.alloc(0);
  for (;;) {
    // The header's last line is `---` and a MAC.
    const last = read.indexOf('\n--- ');
    const end = last < 0 ? -1 : read.indexOf('\n', last + 1) + 1;
    if (end > 0 && read.length >= end + PAYLOAD_NONCE_BYTES) {
      const start = end + PAYLOAD_NONCE_BYTES;
      return {
        header: read.subarray(0, end),
        nonce: read.subarray(end, start),
        rest: read.subarray(start),
      };
    }
    if (read.length > MAX_HEADER_BYTES) throw new DecryptionFailed('it is not an age file');
    const next = await chunks.next();
    if (next.done) throw new DecryptionFailed('it is not an age file, or was cut short');
    read = Buffer.concat([read, next.value]);
  }
}

async function* followedBy(first: Uint8Array, chunks: AsyncIterator<Uint8Array>) {
  yield first;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}
