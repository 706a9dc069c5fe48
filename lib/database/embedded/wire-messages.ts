/** A message of the Postgres protocol, version 3. `raw` is the whole message, `body` the part after its length. */
export interface WireMessage {
  readonly type: string;
  readonly raw: Buffer;
  readonly body: Buffer;
}

/** An error as sent to clients: SQLSTATE and message. */
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

/** BEGIN or START TRANSACTION at the start of a statement. */
const beginning = /(?:^|[;\0]|\*\/)\s*(?:begin|start)\b/i;

/** The size limit of a client's message. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

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

/** Aborts a COPY. Ignored by the server when no COPY runs. */
export function copyFailMessage(reason: string): Buffer {
  return frame('f', cstrings(reason));
}

export function closeStatementMessage(name: string): Buffer {
  return frame('C', cstrings(`S${name}`));
}

export function readyMessage(status: string): Buffer {
  return frame('Z', Buffer.from(status, 'latin1'));
}

/** A CommandComplete. */
export function completeMessage(tag: string): Buffer {
  return frame('C', cstrings(tag));
}

export function parameterMessage(name: string, value: string): Buffer {
  return frame('S', cstrings(name, value));
}

/** An ErrorResponse. */
export function errorMessage(severity: 'ERROR' | 'FATAL', { code, message }: WireError): Buffer {
  return frame('E', cstrings(`S${severity}`, `V${severity}`, `C${code}`, `M${message}`, ''));
}

/** Do these messages end with one that makes the server respond with ReadyForQuery? */
export function isAnswered(messages: readonly Buffer[]): boolean {
  return ['S', 'Q', 'F'].includes(typeOf(messages.at(-1)));
}

/** Is this a single statement that does not begin a transaction? */
export function isOneStatement(messages: readonly Buffer[]): boolean {
  const executed = messages.filter((raw) => ['Q', 'E'].includes(typeOf(raw)));
  const begins = messages.some(
    (raw) => ['Q', 'P'].includes(typeOf(raw)) && beginning.test(raw.toString('utf8', 5)),
  );
  return executed.length === 1 && !begins;
}

function typeOf(message: Buffer | undefined): string {
  return message?.toString('latin1', 0, 1) ?? '';
}

/** Parses the body of an ErrorResponse. */
export function readError(body: Buffer): WireError {
  const fields = body.toString('utf8').split('\0');
  const field = (key: string) => fields.find((text) => text.startsWith(key))?.slice(1) ?? '';
  return { code: field('C'), message: field('M') };
}

/** Parses the body of a DataRow: columns as text, null for NULL. */
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
