import type { FileHandle } from 'node:fs/promises';

const CHUNK_BYTES = 2 ** 18;

/**
 * Streams the first `sizeBytes` of an open file, chunk by chunk, and closes the file at the end, or when the stream is
 * canceled. Fails if the file has become shorter.
 */
export function streamFile(handle: FileHandle, sizeBytes: number): ReadableStream<Uint8Array> {
  let position = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const wanted = Math.min(CHUNK_BYTES, sizeBytes - position);
          if (wanted > 0) {
            const { buffer, bytesRead } = await handle.read(
              Buffer.allocUnsafe(wanted),
              0,
              wanted,
              position,
            );
            if (bytesRead === 0) throw new Error('the archive became shorter while it was read');
            position += bytesRead;
            controller.enqueue(buffer.subarray(0, bytesRead));
          }
          if (position < sizeBytes) return;
          await handle.close();
          controller.close();
        } catch (error) {
          await handle.close();
          throw error;
        }
      },
      cancel: () => handle.close(),
    },
    // Reads nothing before a chunk is requested.
    { highWaterMark: 0 },
  );
}
