import type { LiveLog } from '../records/live-logs.ts';

/** Rows that are sent together. Each form is made once, for all clients that are sent it. */
export class LogBatch {
  readonly #rows: readonly LiveLog[];
  #events: Buffer | null = null;
  #messages: readonly Buffer[] | null = null;

  constructor(rows: readonly LiveLog[]) {
    this.#rows = rows;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** As Server-Sent Events: an `id`, an `event` and a `data` line each (spec 1, SSE). */
  events(): Buffer {
    this.#events ??= Buffer.from(
      this.#rows.map(({ id, message }) => `id: ${id}\nevent: log\ndata: ${message}\n\n`).join(''),
    );
    return this.#events;
  }

  /** As one WebSocket text message each (spec 1, WebSocket). */
  messages(): readonly Buffer[] {
    this.#messages ??= this.#rows.map(({ message }) => Buffer.from(message));
    return this.#messages;
  }
}
