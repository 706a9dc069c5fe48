/**
 * Reads the body of an answer as UTF-8 text. Throws an Error as soon as it has more than `maxBytes`, so
 * that no other service can fill the memory.
 */
export async function readBoundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
