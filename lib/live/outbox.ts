import type { LogBatch } from './log-batch.ts';

/** Events that may wait for a client. */
const MAX_WAITING_EVENTS = 256;

export interface OutboxOptions {
  /** Sends batches in one write. False: the connection is full, and tells `drained` when it is not. */
  write(batches: readonly LogBatch[]): boolean;
  /** The client has fallen behind. Called once; nothing is written any more. */
  onOverflow(): void;
}

/**
 * What waits for one client. While its connection takes bytes every batch is written at once; while it
 * is full they wait, and the client is given up when more than 256 events would.
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
    // While it is held it is us who keep the client waiting.
    if (this.#state === 'full' && this.#waitingEvents > MAX_WAITING_EVENTS) {
      this.close();
      this.#options.onOverflow();
    }
  }

  /** Sends the history and what came while it was read. Until then every batch waits. */
  open(history: LogBatch): void {
    if (this.#state !== 'held') return;
    this.#state = 'open';
    this.#waiting.unshift(history);
    this.#writeWaiting();
  }

  /** The connection takes bytes again. */
  drained(): void {
    if (this.#state !== 'full') return;
    this.#state = 'open';
    this.#writeWaiting();
  }

  /** Nothing is sent any more, also what waits. */
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

/** The bytes of several batches; those of one are not copied. */
export function joinBuffers(buffers: readonly Buffer[]): Buffer {
  const [only, ...others] = buffers;
  return only && others.length === 0 ? only : Buffer.concat(buffers);
}
