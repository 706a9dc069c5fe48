import type { ServerResponse } from 'node:http';
import { LiveClient, type LiveClientOptions, sleepUntil } from './live-client.ts';
import type { LogBatch } from './log-batch.ts';
import { joinBuffers } from './outbox.ts';

const PING_MS = 15_000;
const FIRST_LINES = 'retry: 5000\n\n';
/** Clients rely on the comment. A page sees no comments, so it gets an event as well, without an id. */
const PING = ': ping\n\nevent: heartbeat\ndata: {"type":"heartbeat"}\n\n';

/** A client of GET /api/logs/stream. */
export class SseClient extends LiveClient {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse, options: LiveClientOptions) {
    super(options);
    this.#outgoing = outgoing;
    outgoing.on('drain', () => this.outbox.drained());
    // An error closes the connection.
    outgoing.on('error', () => outgoing.destroy());
    outgoing.once('close', () => this.end());
  }

  /** Starts the answer with the rows that the client has missed. */
  open(headers: Headers, history: LogBatch): void {
    if (this.left.aborted) {
      this.#outgoing.destroy();
      return;
    }
    this.#outgoing.writeHead(200, Object.fromEntries(headers));
    this.#outgoing.write(FIRST_LINES);
    this.outbox.open(history);
    void this.#live();
  }

  override shutDown(): void {
    void this.#close();
  }

  protected override write(batches: readonly LogBatch[]): boolean {
    return this.#outgoing.write(joinBuffers(batches.map((batch) => batch.events())));
  }

  protected override dropSlow(): void {
    this.#outgoing.destroy();
  }

  async #live(): Promise<void> {
    const { clock, durationMs } = this.options;
    const endsAt = clock.now() + durationMs;
    let pingAt = clock.now() + PING_MS;
    while (await sleepUntil(Math.min(pingAt, endsAt), clock, this.left)) {
      if (clock.now() >= endsAt) return this.#close();
      // A full connection already has something to send.
      if (!this.outbox.isFull) this.#outgoing.write(PING);
      pingAt += PING_MS;
    }
  }

  async #close(): Promise<void> {
    const isReading = !this.outbox.isFull;
    this.leave();
    if (!this.#outgoing.headersSent || !isReading) {
      this.#outgoing.destroy();
      return;
    }
    this.#outgoing.end();
    if (await this.isOverdue()) this.#outgoing.destroy();
  }
}
