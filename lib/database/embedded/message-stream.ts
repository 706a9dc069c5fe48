import { once } from 'node:events';
import type { Socket } from 'node:net';
import { FatalError, type WireMessage } from './messages.ts';

const MAX_STARTUP_BYTES = 10_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** How long a disconnected client may take to close its socket. */
const LINGER_MS = 5_000;

/** The client closed the connection, or it broke. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** A client's connection as a stream of messages. */
export class MessageStream {
  readonly #socket: Socket;
  readonly #over = new AbortController();
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('readable', () => {
      this.#wake();
      // Otherwise the end of the connection would only be noticed at the next read.
      if (socket.readableLength === 0) socket.read(0);
    });
    const leave = () => this.abort(new ClientGone('the client has disconnected'));
    socket.on('end', leave).on('close', leave).on('error', leave);
    this.signal.addEventListener('abort', () => this.#wake());
  }

  /** Aborts with the reason when either side ends the connection. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Whether there is unread input. */
  get hasMore(): boolean {
    return this.#socket.readableLength > 0;
  }

  /** Fails all waiting calls with this reason. Only the first reason counts. */
  abort(reason: Error): void {
    this.#over.abort(reason);
  }

  /** The startup packet, without its length. Throws the signal's reason. */
  async nextStartup(): Promise<Buffer> {
    const length = (await this.#read(4)).readInt32BE(0);
    if (length < 8 || length > MAX_STARTUP_BYTES) throw invalidLength('the startup packet');
    return this.#read(length - 4);
  }

  /** The next message. Throws the signal's reason, or FatalError 08P01 if it is too long. */
  async nextMessage(maxBytes = MAX_MESSAGE_BYTES): Promise<WireMessage> {
    const head = await this.#read(5);
    const length = head.readInt32BE(1);
    if (length < 4 || length > maxBytes) throw invalidLength('a message');
    const body = await this.#read(length - 4);
    return { type: head.toString('latin1', 0, 1), raw: Buffer.concat([head, body]), body };
  }

  write(output: Buffer): void {
    if (this.#socket.writable) this.#socket.write(output);
  }

  /** Resolves when the written data has been flushed. Throws the signal's reason. */
  async drained(): Promise<void> {
    if (this.#socket.writableNeedDrain) await once(this.#socket, 'drain', { signal: this.signal });
  }

  /** Closes the connection, and destroys it if the client does not read its results. */
  end(): void {
    if (this.#socket.writableNeedDrain) {
      this.#socket.destroy();
      return;
    }
    this.#socket.end();
    // Discard further input, to notice when the client closes its side.
    this.#socket.removeAllListeners('readable').resume();
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  async #read(bytes: number): Promise<Buffer> {
    for (;;) {
      this.signal.throwIfAborted();
      const data: Buffer | null = bytes === 0 ? Buffer.alloc(0) : this.#socket.read(bytes);
      if (data?.length === bytes) return data;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function invalidLength(what: string): FatalError {
  return new FatalError('08P01', `invalid length of ${what}`);
}
