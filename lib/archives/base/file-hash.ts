import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const CHUNK_BYTES = 2 ** 20;

/**
 * Hashes the bytes of an open file from `start` to `end`, or to its end if that comes first. Does not move
 * the handle's own position.
 */
export async function hashFile(
  handle: FileHandle,
  algorithm: 'sha1' | 'sha256',
  { start, end, signal }: { start: number; end: number; signal: AbortSignal },
): Promise<Buffer> {
  const hash = createHash(algorithm);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let position = start;
  while (position < end) {
    signal.throwIfAborted();
    const wanted = Math.min(CHUNK_BYTES, end - position);
    const { bytesRead } = await handle.read(buffer, 0, wanted, position);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest();
}
