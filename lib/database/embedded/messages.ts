/** A message of the Postgres protocol, version 3. */
export interface WireMessage {
  readonly type: string;
  /** The whole message. */
  readonly raw: Buffer;
  /** What follows the type and the length. */
  readonly body: Buffer;
}

/** Ends a client's connection with a FATAL error of this SQLSTATE. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Encodes a message: type byte, length, body. */
export function frame(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const message = Buffer.allocUnsafe(5 + body.length);
  message.write(type, 0, 1, 'latin1');
  message.writeInt32BE(4 + body.length, 1);
  body.copy(message, 5);
  return message;
}

/** Encodes zero-terminated strings. */
export function cstrings(...texts: string[]): Buffer {
  return Buffer.from(texts.map((text) => `${text}\0`).join(''), 'utf8');
}

/** Encodes 32-bit integers. */
export function int32s(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, 4 * index);
  return bytes;
}

/** Reads the zero-terminated string at `offset`; `next` is the offset after it. Throws FatalError 08P01. */
export function readCstring(body: Buffer, offset = 0): { text: string; next: number } {
  const end = body.indexOf(0, offset);
  if (end === -1) throw new FatalError('08P01', 'unterminated string in a message');
  return { text: body.toString('utf8', offset, end), next: end + 1 };
}

export const syncMessage = frame('S');

export function queryMessage(sql: string): Buffer {
  return frame('Q', cstrings(sql));
}

export function readyMessage(status: string): Buffer {
  return frame('Z', Buffer.from(status, 'latin1'));
}

/** A ParameterStatus, which reports a setting. */
export function parameterMessage(name: string, value: string): Buffer {
  return frame('S', cstrings(name, value));
}

/** An ErrorResponse that ends the connection. */
export function fatalMessage({ code, message }: { code: string; message: string }): Buffer {
  return frame('E', cstrings('SFATAL', 'VFATAL', `C${code}`, `M${message}`, ''));
}

/** Splits a complete answer of the server into messages. */
export function splitMessages(answer: Buffer): WireMessage[] {
  const messages: WireMessage[] = [];
  for (let offset = 0; offset < answer.length; ) {
    const end = offset + 1 + answer.readInt32BE(offset + 1);
    const raw = answer.subarray(offset, end);
    messages.push({ type: raw.toString('latin1', 0, 1), raw, body: raw.subarray(5) });
    offset = end;
  }
  return messages;
}

/** Parses the body of an ErrorResponse. */
export function readError(body: Buffer): FatalError {
  const fields = body.toString('utf8').split('\0');
  const field = (key: string) => fields.find((text) => text.startsWith(key))?.slice(1) ?? '';
  return new FatalError(field('C'), field('M'));
}

/** Parses the body of a DataRow: columns as text, null for NULL. */
export function readRow(body: Buffer): (string | null)[] {
  const columns: (string | null)[] = [];
  let offset = 2;
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(offset);
    offset += 4;
    columns.push(length === -1 ? null : body.toString('utf8', offset, offset + length));
    offset += Math.max(length, 0);
  }
  return columns;
}
