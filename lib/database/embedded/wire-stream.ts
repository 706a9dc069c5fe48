import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { WireMessage } from './wire-messages.ts';
import { FrontendReader } from './wire-readers.ts';

/** Stop reading from a client that has more than this buffered. */
const MAX_PENDING_BYTES = 1024 * 1024;

/** The client closed the connection, or it broke. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** One client's connection as a stream of messages. Its signal aborts with the reason for its end. */
export class WireStream {
  readonly #stream: Duplex;
  readonly #reader = new FrontendReader();
  readonly #over = new AbortController();
  #wake: (() => void) | null = null;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      if (this.#wake !== null) this.#wake();
      else if (this.#reader.pending > MAX_PENDING_BYTES) stream.pause();
    });
    const leave = () => this.abort(new ClientGone('the client has disconnected'));
    stream.on('end', leave).on('close', leave).on('error', leave);
    this.signal.addEventListener('abort', () => this.#wake?.());
  }

  /** Aborts when the connection ends, whoever ended it. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Is there buffered input? */
  get hasMore(): boolean {
    return this.#reader.pending > 0;
  }

  /** Fails all waiting calls with this reason. Only the first reason counts. */
  abort(reason: Error): void {
    this.#over.abort(reason);
  }

  /** The startup packet, without its length. Throws the signal's reason. */
  nextStartup(): Promise<Buffer> {
    return this.#next(() => this.#reader.readStartup());
  }

  /** The next message. Throws the signal's reason, and FatalError 08P01 for one that is too long. */
  nextMessage(limit?: number): Promise<WireMessage> {
    return this.#next(() => this.#reader.readMessage(limit));
  }

  write(output: Buffer): void {
    if (this.#stream.writable) this.#stream.write(output);
  }

  /** Resolves when the written data has been flushed. Throws the signal's reason. */
  async drained(): Promise<void> {
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain', { signal: this.signal });
  }

  /** Writes a last message and closes. Destroys the connection of a client that does not read its results. */
  end(last: Buffer | null): void {
    if (this.#stream.writableNeedDrain) {
      this.#stream.destroy();
      return;
    }
    if (this.#stream.writable) this.#stream.end(last ?? undefined);
    // Discard further input, to notice when the client closes its side.
    this.#stream.removeAllListeners('data').resume();
  }

  async #next<Message>(read: () => Message | null): Promise<Message> {
    for (;;) {
      this.signal.throwIfAborted();
      const message = read();
      if (message !== null) {
        if (this.#reader.pending > MAX_PENDING_BYTES) this.#stream.pause();
        return message;
      }
      this.#stream.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }
}
