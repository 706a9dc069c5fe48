import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import { type LiveClient, sleepUntil, WRITE_DEADLINE_MS } from './client.ts';
import type { LogBatch } from './log-batch.ts';
import { joinBuffers, Outbox } from './outbox.ts';

const PING_MS = 15_000;
const FIRST_LINES = 'retry: 5000\n\n';
const PING = ': ping\n\n';

export interface EventStreamOptions {
  clock: Clock;
  /** The stream is ended after this. */
  durationMs: number;
  /** The client was given up because it reads too slowly. */
  onSlow(): void;
}

/** A client of GET /api/logs/stream. Batches that are pushed before `open` wait. */
export class LogStream implements LiveClient {
  readonly #outgoing: ServerResponse;
  readonly #options: EventStreamOptions;
  readonly #outbox: Outbox;
  readonly #left = new AbortController();
  readonly #gone = new AbortController();

  constructor(outgoing: ServerResponse, options: EventStreamOptions) {
    this.#outgoing = outgoing;
    this.#options = options;
    this.#outbox = new Outbox({
      write: (batches) => outgoing.write(joinBuffers(batches.map((batch) => batch.events()))),
      onOverflow: () => {
        options.onSlow();
        outgoing.destroy();
      },
    });
    outgoing.on('drain', () => this.#outbox.drained());
    // What fails is the connection, and that closes.
    outgoing.on('error', () => outgoing.destroy());
    outgoing.once('close', () => {
      this.#leave();
      this.#gone.abort();
    });
  }

  /** Aborted when nothing is to be sent any more. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  readonly push = (batch: LogBatch): void => this.#outbox.push(batch);

  /** Starts the answer with the rows that the client has missed. */
  open(headers: Headers, history: LogBatch): void {
    if (this.#left.signal.aborted) {
      this.#outgoing.destroy();
      return;
    }
    this.#outgoing.writeHead(200, Object.fromEntries(headers));
    this.#outgoing.write(FIRST_LINES);
    this.#outbox.open(history);
    void this.#live();
  }

  shutDown(): void {
    void this.#end();
  }

  async #live(): Promise<void> {
    const { clock, durationMs } = this.#options;
    const endsAt = clock.now() + durationMs;
    let pingAt = clock.now() + PING_MS;
    while (await sleepUntil(Math.min(pingAt, endsAt), clock, this.left)) {
      if (clock.now() >= endsAt) return this.#end();
      // A full connection has something to carry already.
      if (!this.#outbox.isFull) this.#outgoing.write(PING);
      pingAt += PING_MS;
    }
  }

  async #end(): Promise<void> {
    const isReading = !this.#outbox.isFull;
    this.#leave();
    if (!this.#outgoing.headersSent || !isReading) {
      this.#outgoing.destroy();
      return;
    }
    this.#outgoing.end();
    const { clock } = this.#options;
    if (await sleepUntil(clock.now() + WRITE_DEADLINE_MS, clock, this.gone)) {
      this.#outgoing.destroy();
    }
  }

  #leave(): void {
    this.#outbox.close();
    this.#left.abort();
  }
}
