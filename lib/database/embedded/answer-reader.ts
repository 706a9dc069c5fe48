/**
 * Reads the server's answer to a batch and forwards it in chunks, without the withheld message types. Rows
 * are not buffered, so an answer may be of any size.
 */
export class AnswerReader {
  /** From ReadyForQuery: I(dle), T(ransaction) or E(rror in a transaction); null when there was none. */
  status: string | null = null;
  /** Command tags, such as `SET` and `INSERT 0 1`. */
  readonly tags: string[] = [];
  #carry: Buffer = Buffer.alloc(0);
  /** Bytes left of a message that was forwarded in part. */
  #rest = 0;
  readonly #withheld: string;
  readonly #pass: (output: Buffer) => void;

  constructor(withheld: string, pass: (output: Buffer) => void) {
    this.#withheld = withheld;
    this.#pass = pass;
  }

  push(chunk: Uint8Array): void {
    const data = Buffer.concat([this.#carry, chunk]);
    let start = 0;
    let offset = Math.min(this.#rest, data.length);
    this.#rest -= offset;
    while (data.length - offset >= 5) {
      const type = data.toString('latin1', offset, offset + 1);
      const end = offset + 1 + data.readInt32BE(offset + 1);
      const withheld = this.#withheld.includes(type);
      if (end > data.length && (withheld || type === 'C' || type === 'Z')) break;
      this.#note(type, data.subarray(offset + 5, end));
      if (withheld) {
        this.#pass(data.subarray(start, offset));
        start = end;
      }
      offset = Math.min(end, data.length);
      this.#rest = end - offset;
    }
    this.#carry = data.subarray(offset);
    this.#pass(data.subarray(start, offset));
  }

  #note(type: string, body: Buffer): void {
    if (type === 'C') this.tags.push(body.toString('latin1', 0, body.length - 1));
    else if (type === 'Z') this.status = body.toString('latin1', 0, 1);
  }
}
