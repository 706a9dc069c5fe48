import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { WireMessage } from './wire-messages.ts';
import { FrontendReader } from './wire-readers.ts';

/** A client that has more than this waiting to be read is not read from meanwhile. */
const PENDING_LIMIT = 1024 * 1024;

/** The client closed its side, or its connection broke. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** One client's connection as messages. It ends by its signal, whose reason says why. */
export class WireStream {
  readonly #stream: Duplex;
  readonly #reader = new FrontendReader();
  readonly #over = new AbortController();
  #wake: (() => void) | null = null;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#wake?.();
    });
    const leave = () => this.abort(new ClientGone('the client is gone'));
    stream.on('end', leave).on('close', leave).on('error', leave);
    this.signal.addEventListener('abort', () => this.#wake?.());
  }

  /** Aborted when the connection is over, also for a reason of ours. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Has something come that was not read yet? */
  get hasMore(): boolean {
    return this.#reader.pending > 0;
  }

  /** Makes whatever waits for the client fail with this reason. The first reason counts. */
  abort(reason: Error): void {
    this.#over.abort(reason);
  }

  /** The startup packet, without its length. Throws the signal's reason. */
  nextStartup(): Promise<Buffer> {
    return this.#next(() => this.#reader.readStartup());
  }

  /** The next message. Throws the signal's reason, and FatalError 08P01 for one that is out of bounds. */
  nextMessage(): Promise<WireMessage> {
    return this.#next(() => this.#reader.readMessage());
  }

  write(output: Buffer): void {
    if (this.#stream.writable) this.#stream.write(output);
  }

  /** Resolves when the client has taken what was written. Throws the signal's reason. */
  async drained(): Promise<void> {
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain', { signal: this.signal });
  }

  /** Writes a last message and closes. A client that does not take what it asked for is cut off. */
  end(last: Buffer | null): void {
    if (this.#stream.writableNeedDrain) {
      this.#stream.destroy();
      return;
    }
    if (this.#stream.writable) this.#stream.end(last ?? undefined);
    // What still comes is thrown away, so that the client's own end is seen.
    this.#stream.removeAllListeners('data').resume();
  }

  async #next<Message>(read: () => Message | null): Promise<Message> {
    for (;;) {
      this.signal.throwIfAborted();
      const message = read();
      if (message !== null) {
        if (this.#reader.pending > PENDING_LIMIT) this.#stream.pause();
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
