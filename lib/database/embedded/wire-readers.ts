import { FatalError, MAX_MESSAGE_BYTES, type WireMessage } from './wire-messages.ts';

const MAX_STARTUP_BYTES = 10_000;
/** Messages up to this size are forwarded whole, so that an answer can be cut between messages. */
const MAX_WHOLE_MESSAGE_BYTES = 64 * 1024;

/** Assembles a client's messages from socket chunks. */
export class FrontendReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The number of buffered bytes. */
  get pending(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The body of a startup message, which has no type byte; null when incomplete. */
  readStartup(): Buffer | null {
    const length = this.#peek(4)?.readInt32BE(0);
    if (length === undefined) return null;
    if (length < 8 || length > MAX_STARTUP_BYTES) throw malformed('the startup packet');
    return this.#take(length)?.subarray(4) ?? null;
  }

  /** The next message; null when incomplete. Throws FatalError 08P01 when it is too long. */
  readMessage(limit = MAX_MESSAGE_BYTES): WireMessage | null {
    const head = this.#peek(5);
    if (head === null) return null;
    const length = head.readInt32BE(1);
    if (length < 4 || length > limit) throw malformed('a message');
    const raw = this.#take(1 + length);
    return raw && { type: String.fromCharCode(raw[0] ?? 0), raw, body: raw.subarray(5) };
  }

  #peek(length: number): Buffer | null {
    return this.#bytes < length ? null : this.#join(length);
  }

  #take(length: number): Buffer | null {
    if (this.#bytes < length) return null;
    const first = this.#join(length);
    this.#bytes -= length;
    if (first.length === length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(length);
    return first.subarray(0, length);
  }

  /** The first chunk, joined with others to be at least `length` bytes, which must be buffered. */
  #join(length: number): Buffer {
    let [first = Buffer.alloc(0)] = this.#chunks;
    if (first.length < length) {
      first = Buffer.concat(this.#chunks);
      this.#chunks = [first];
    }
    return first;
  }
}

/** The transaction status in ReadyForQuery: idle, in a transaction, in a failed transaction. */
export type TransactionStatus = 'I' | 'T' | 'E';

/**
 * Parses the server's answer to one batch and forwards it without buffering rows. Withholds the message
 * types that the wire session sends itself (ReadyForQuery) or must not send twice.
 */
export class AnswerReader {
  status: TransactionStatus | null = null;
  /** Command tags, such as `SET` and `INSERT 0 1`. */
  readonly tags: string[] = [];
  parsed = 0;
  closed = 0;
  #carry: Buffer = Buffer.alloc(0);
  #skip = 0;
  readonly #withheld: string;
  readonly #pass: (output: Buffer) => void;

  constructor(withheld: string, pass: (output: Buffer) => void) {
    this.#withheld = withheld;
    this.#pass = pass;
  }

  /** Was a message forwarded only in part so far? */
  get isCut(): boolean {
    return this.#skip > 0;
  }

  /** Processes the next chunk. The forwarded output is a copy. */
  push(piece: Uint8Array): void {
    const data = Buffer.concat([this.#carry, piece]);
    let start = 0;
    let offset = Math.min(this.#skip, data.length);
    this.#skip -= offset;
    while (data.length - offset >= 5) {
      const type = String.fromCharCode(data[offset] ?? 0);
      const end = offset + 1 + data.readInt32BE(offset + 1);
      const withheld = this.#withheld.includes(type);
      const isKept =
        withheld || type === 'C' || type === 'Z' || end - offset <= MAX_WHOLE_MESSAGE_BYTES;
      if (end > data.length && isKept) break;
      this.#note(type, data.subarray(offset + 5, end));
      if (withheld) {
        this.#send(data.subarray(start, offset));
        start = end;
      }
      offset = Math.min(end, data.length);
      this.#skip = end - offset;
    }
    this.#carry = data.subarray(offset);
    this.#send(data.subarray(start, offset));
  }

  #send(output: Buffer): void {
    if (output.length > 0) this.#pass(output);
  }

  #note(type: string, body: Buffer): void {
    if (type === 'C') this.tags.push(body.toString('latin1', 0, body.length - 1));
    else if (type === '1') this.parsed++;
    else if (type === '3') this.closed++;
    else if (type === 'Z') this.status = toStatus(body.toString('latin1', 0, 1));
  }
}

/** Splits a complete server answer into messages. */
export function splitMessages(answer: Buffer): WireMessage[] {
  const messages: WireMessage[] = [];
  for (let offset = 0; offset < answer.length; ) {
    const end = offset + 1 + answer.readInt32BE(offset + 1);
    const raw = answer.subarray(offset, end);
    messages.push({ type: String.fromCharCode(raw[0] ?? 0), raw, body: raw.subarray(5) });
    offset = end;
  }
  return messages;
}

function toStatus(text: string): TransactionStatus {
  return text === 'T' || text === 'E' ? text : 'I';
}

function malformed(what: string): FatalError {
  return new FatalError('08P01', `invalid length of ${what}`);
}
