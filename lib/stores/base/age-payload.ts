import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

// The payload of an age file, as in https://age-encryption.org/v1, "Payload". The library's own cipher is written in
// JavaScript; OpenSSL's is several times faster.

/** How many bytes are encrypted as one chunk. */
export const CHUNK_BYTES = 64 * 2 ** 10;
/** How many bytes OpenSSL receives at a time. Node allocates each result anew, which is slow for larger ones. */
const PIECE_BYTES = 16 * 2 ** 10;
const TAG_BYTES = 16;
/** The size of an encrypted chunk that is not the last. */
export const SEALED_BYTES = CHUNK_BYTES + TAG_BYTES;
/** The number of random bytes at the start of a payload. */
export const PAYLOAD_NONCE_BYTES = 16;

const cipher = 'chacha20-poly1305';
const options = { authTagLength: TAG_BYTES };

/** Encrypted text cannot be decrypted: it was altered, or encrypted for other recipients. */
export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed';
  /** Whether no identity matches, so that none of it can be decrypted. Its header may have been altered. */
  readonly isLocked: boolean;

  constructor(message: string, options: ErrorOptions & { isLocked?: boolean } = {}) {
    super(message, options);
    this.isLocked = options.isLocked ?? false;
  }
}

/** Encrypts bytes into a payload, without the nonce at its start. Each piece is overwritten by the next. */
export async function* sealPayload(
  fileKey: Uint8Array,
  nonce: Uint8Array,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const key = payloadKey(fileKey, nonce);
  const counter = createCounter();
  const sealed = Buffer.allocUnsafe(SEALED_BYTES);
  for await (const { chunk, isLast } of inChunks(bytes, CHUNK_BYTES)) {
    const sealing = createCipheriv(cipher, key, counter.next(isLast), options);
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      sealed.set(sealing.update(chunk.subarray(at, at + PIECE_BYTES)), at);
    }
    sealing.final();
    sealed.set(sealing.getAuthTag(), chunk.length);
    yield sealed.subarray(0, chunk.length + TAG_BYTES);
  }
}

/**
 * Decrypts a payload without its nonce, starting with `firstChunk` (counted from 0). Throws DecryptionFailed before
 * yielding anything that was altered.
 */
export async function* openPayload(
  fileKey: Uint8Array,
  nonce: Uint8Array,
  bytes: AsyncIterable<Uint8Array>,
  firstChunk = 0,
): AsyncGenerator<Buffer> {
  const key = payloadKey(fileKey, nonce);
  const counter = createCounter(firstChunk);
  let isFirst = firstChunk === 0;
  for await (const { chunk, isLast } of inChunks(bytes, SEALED_BYTES)) {
    const length = chunk.length - TAG_BYTES;
    if (length < 0 || (length === 0 && !isFirst)) throw new DecryptionFailed('it is cut short');
    const opening = createDecipheriv(cipher, key, counter.next(isLast), options);
    opening.setAuthTag(chunk.subarray(length));
    const opened = opening.update(chunk.subarray(0, length));
    try {
      opening.final();
    } catch (cause) {
      throw new DecryptionFailed('it was altered or cut short', { cause });
    }
    isFirst = false;
    yield opened;
  }
}

/** A KeyObject, because Node would otherwise create one for each chunk. */
function payloadKey(fileKey: Uint8Array, nonce: Uint8Array): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', fileKey, nonce, 'payload', 32)));
}

/** Nonces: 11 bytes count the chunks, and one marks the last. */
function createCounter(first = 0): { next(isLast: boolean): Buffer } {
  const nonce = Buffer.alloc(12);
  let count = first;
  return {
    next(isLast) {
      // No file has 2^48 chunks.
      nonce.writeUIntBE(count++, 5, 6);
      nonce[11] = isLast ? 1 : 0;
      return nonce;
    },
  };
}

/** Splits bytes into chunks of one size, except the last, which is empty only if there are no bytes. */
async function* inChunks(
  bytes: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  const chunk = Buffer.allocUnsafe(size);
  let used = 0;
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length; ) {
      if (used === size) {
        yield { chunk, isLast: false };
        used = 0;
      }
      const part = piece.subarray(at, at + size - used);
      chunk.set(part, used);
      used += part.length;
      at += part.length;
    }
  }
  yield { chunk: chunk.subarray(0, used), isLast: true };
}
