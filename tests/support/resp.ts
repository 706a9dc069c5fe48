/** A reply from Redis: status and bulk strings, integers, null, arrays; an error is an Error. */
export type Reply = string | number | null | Error | Reply[];

/** A command as Redis reads it from a connection (RESP 2). */
export function encodeCommand(parts: readonly unknown[]): string {
  const bulk = parts.map((part) => {
    const text = String(part);
    return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
  });
  return `*${parts.length}\r\n${bulk.join('')}`;
}

/** Reads the first reply in the bytes. Null when it has not arrived completely. */
export function decodeReply(bytes: Buffer, offset = 0): { reply: Reply; end: number } | null {
  const lineEnd = bytes.indexOf('\r\n', offset);
  if (lineEnd === -1) return null;
  const line = bytes.toString('utf8', offset + 1, lineEnd);
  const start = lineEnd + 2;
  switch (bytes.toString('latin1', offset, offset + 1)) {
    case '+':
      return { reply: line, end: start };
    case '-':
      return { reply: new Error(line), end: start };
    case ':':
      return { reply: Number(line), end: start };
    case '$':
      return decodeBulk(bytes, start, Number(line));
    case '*':
      return decodeArray(bytes, start, Number(line));
    default:
      throw new Error('not a reply of Redis');
  }
}

function decodeBulk(bytes: Buffer, start: number, length: number) {
  if (length < 0) return { reply: null, end: start };
  if (bytes.length < start + length + 2) return null;
  return { reply: bytes.toString('utf8', start, start + length), end: start + length + 2 };
}

function decodeArray(bytes: Buffer, start: number, length: number) {
  const replies: Reply[] = [];
  let end = start;
  for (let index = 0; index < length; index += 1) {
    const item = decodeReply(bytes, end);
    if (item === null) return null;
    replies.push(item.reply);
    end = item.end;
  }
  return { reply: length < 0 ? null : replies, end };
}
