/** One message of the Postgres protocol, version 3. `raw` is all of it, `body` what follows its length. */
export interface WireMessage {
  readonly type: string;
  readonly raw: Buffer;
  readonly body: Buffer;
}

/** An error as a client of the protocol sees it: SQLSTATE and text. */
export interface WireError {
  readonly code: string;
  readonly message: string;
}

/** Ends one client's connection with a FATAL ErrorResponse. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The longest message that a client may send, in bytes. */
export const MESSAGE_LIMIT = 64 * 1024 * 1024;

/** A message of this type around a body: type byte, length, body. */
export function frame(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const message = Buffer.allocUnsafe(5 + body.length);
  message.write(type, 0, 1, 'latin1');
  message.writeInt32BE(4 + body.length, 1);
  body.copy(message, 5);
  return message;
}

/** Strings, each with the zero byte that ends it. */
export function cstrings(...texts: string[]): Buffer {
  return Buffer.from(texts.map((text) => `${text}\0`).join(''), 'utf8');
}

/** The zero-terminated string at `offset`, and where the next field starts. Throws FatalError 08P01. */
export function readCstring(body: Buffer, offset = 0): { text: string; next: number } {
  const end = body.indexOf(0, offset);
  if (end === -1) throw new FatalError('08P01', 'a string in a message has no end');
  return { text: body.toString('utf8', offset, end), next: end + 1 };
}

export const syncMessage = frame('S');

export function queryMessage(sql: string): Buffer {
  return frame('Q', cstrings(sql));
}

/** Aborts a COPY; outside of one the server accepts and ignores it. */
export function copyFailMessage(reason: string): Buffer {
  return frame('f', cstrings(reason));
}

export function closeStatementMessage(name: string): Buffer {
  return frame('C', cstrings(`S${name}`));
}

export function readyMessage(status: string): Buffer {
  return frame('Z', Buffer.from(status, 'latin1'));
}

export function parameterMessage(name: string, value: string): Buffer {
  return frame('S', cstrings(name, value));
}

/** An ErrorResponse. */
export function errorMessage(severity: 'ERROR' | 'FATAL', { code, message }: WireError): Buffer {
  return frame('E', cstrings(`S${severity}`, `V${severity}`, `C${code}`, `M${message}`, ''));
}

/** SQLSTATE and text of an ErrorResponse's body. */
export function readError(body: Buffer): WireError {
  const fields = body.toString('utf8').split('\0');
  const field = (key: string) => fields.find((text) => text.startsWith(key))?.slice(1) ?? '';
  return { code: field('C'), message: field('M') };
}

/** The columns of a DataRow's body as text; null for NULL. */
export function readRow(body: Buffer): (string | null)[] {
  const columns: (string | null)[] = [];
  let offset = 2;
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(offset);
    offset += 4;
    if (length === -1) {
      columns.push(null);
    } else {
      columns.push(body.toString('utf8', offset, offset + length));
      offset += length;
    }
  }
  return columns;
}
