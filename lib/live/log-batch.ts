import type { LiveLog } from '../records/logs/live.ts';

/** Rows that are sent together. Each format is created once, for all clients. */
export class LogBatch {
  readonly #rows: readonly LiveLog[];
  #events: Buffer | null = null;
  #frames: Buffer | null = null;

  constructor(rows: readonly LiveLog[]) {
    this.#rows = rows;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** As Server-Sent Events: an `id`, an `event` and a `data` line each. */
  events(): Buffer {
    this.#events ??= Buffer.from(
      this.#rows.map(({ id, message }) => `id: ${id}\nevent: log\ndata: ${message}\n\n`).join(''),
    );
    return this.#events;
  }

  /**
   * As WebSocket frames, one text message each. A server does not mask frames, so the bytes are the same for every
   * client.
   */
  frames(): Buffer {
    this.#frames ??= Buffer.concat(this.#rows.flatMap(({ message }) => textFrame(message)));
    return this.#frames;
  }
}

const TEXT_MESSAGE = 0x81;

/** One complete text message: header and payload (RFC 6455, 5.2). */
function textFrame(message: string): Buffer[] {
  const body = Buffer.from(message);
  const short = body.length < 126;
  const medium = body.length < 65_536;
  const head = Buffer.alloc(short ? 2 : medium ? 4 : 10);
  head[0] = TEXT_MESSAGE;
  head[1] = short ? body.length : medium ? 126 : 127;
  if (!short && medium) head.writeUInt16BE(body.length, 2);
  if (!medium) head.writeBigUInt64BE(BigInt(body.length), 2);
  return [head, body];
}
