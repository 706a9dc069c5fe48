import type { LogBatch } from './log-batch.ts';

/** How many events may wait for a client. */
const MAX_WAITING_EVENTS = 256;

export interface OutboxOptions {
  /** Sends batches in one write. False if the connection is full; then `drained` is called when it has room. */
  write(batches: readonly LogBatch[]): boolean;
  /** Called once when the client is too slow. Nothing is written afterwards. */
  onOverflow(): void;
}

/**
 * The batches that wait for one client. Batches are written at once while the connection has room, and wait while
 * it is full. A client with more than 256 waiting events is dropped.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  #state: 'held' | 'open' | 'full' | 'closed' = 'held';
  #waiting: LogBatch[] = [];
  #waitingEvents = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#state === 'full';
  }

  push(batch: LogBatch): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'open') {
      this.#write([batch]);
      return;
    }
    this.#waiting.push(batch);
    this.#waitingEvents += batch.size;
    // Before it is opened, the server makes the client wait, so there is no limit.
    if (this.#state === 'full' && this.#waitingEvents > MAX_WAITING_EVENTS) {
      this.close();
      this.#options.onOverflow();
    }
  }

  /** Sends the history and the batches that arrived while it was read. */
  open(history: LogBatch): void {
    if (this.#state !== 'held') return;
    this.#state = 'open';
    this.#waiting.unshift(history);
    this.#writeWaiting();
  }

  /** The connection has room again. */
  drained(): void {
    if (this.#state !== 'full') return;
    this.#state = 'open';
    this.#writeWaiting();
  }

  /** Drops what waits and sends nothing more. */
  close(): void {
    this.#state = 'closed';
    this.#waiting = [];
  }

  #writeWaiting(): void {
    const batches = this.#waiting.filter(({ size }) => size > 0);
    this.#waiting = [];
    this.#waitingEvents = 0;
    if (batches.length > 0) this.#write(batches);
  }

  #write(batches: readonly LogBatch[]): void {
    if (!this.#options.write(batches)) this.#state = 'full';
  }
}

/** Joins buffers. A single buffer is not copied. */
export function joinBuffers(buffers: readonly Buffer[]): Buffer {
  const [only, ...others] = buffers;
  return only && others.length === 0 ? only : Buffer.concat(buffers);
}
