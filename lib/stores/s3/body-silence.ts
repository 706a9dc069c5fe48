import type { Readable } from 'node:stream';

/**
 * The chunks of a response. Ends with an error once the peer has sent nothing for that long, not counting the time in
 * which nobody asks for the next chunk.
 */
export async function* endSilence(
  body: Readable,
  maxSilenceMs: number,
): AsyncGenerator<Uint8Array> {
  const end = () => {
    const error = new Error(`the response stopped for ${maxSilenceMs / 1_000} s`);
    body.destroy(Object.assign(error, { name: 'TimeoutError' }));
  };
  let timer = setTimeout(end, maxSilenceMs);
  try {
    for await (const chunk of body) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(end, maxSilenceMs);
    }
  } finally {
    clearTimeout(timer);
  }
}
