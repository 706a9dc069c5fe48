import type { Clock } from '../clock.ts';
import type { LogBatch } from './log-batch.ts';
import { Outbox } from './outbox.ts';

/** How long a closing connection may take to accept what was written. */
export const WRITE_DEADLINE_MS = 10_000;

export interface LiveClientOptions {
  clock: Clock;
  /** The connection is closed after this; Infinity for never. */
  durationMs: number;
  /** Called when the client is disconnected because it reads too slowly. */
  onSlow(): void;
}

/** A client of the live feed. Batches that are pushed before it is opened wait. */
export abstract class LiveClient {
  protected readonly options: LiveClientOptions;
  protected readonly outbox: Outbox;
  readonly #left = new AbortController();
  readonly #gone = new AbortController();

  constructor(options: LiveClientOptions) {
    this.options = options;
    this.outbox = new Outbox({
      write: (batches) => this.write(batches),
      onOverflow: () => {
        options.onSlow();
        this.dropSlow();
      },
    });
  }

  /** Aborts when nothing more will be sent. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Aborts when the connection is closed. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  readonly push = (batch: LogBatch): void => this.outbox.push(batch);

  /** Closes the connection properly, or by force if the client does not cooperate in time. */
  abstract shutDown(): void;

  /** Sends batches in one write. False if the connection is full. */
  protected abstract write(batches: readonly LogBatch[]): boolean;

  /** Disconnects a client that reads too slowly. */
  protected abstract dropSlow(): void;

  /** Stops sending. */
  protected leave(): void {
    this.outbox.close();
    this.#left.abort();
  }

  /** Notes that the connection is closed, or was never opened. */
  protected end(): void {
    this.leave();
    this.#gone.abort();
  }

  /** Resolves to false when the connection is closed, and to true if that takes too long. */
  protected isOverdue(): Promise<boolean> {
    const { clock } = this.options;
    return sleepUntil(clock.now() + WRITE_DEADLINE_MS, clock, this.gone);
  }
}

/** The clients of one process. */
export class LiveClients {
  readonly #clients = new Set<LiveClient>();
  #isShutDown = false;

  add(client: LiveClient): void {
    // The client disconnected before it was opened.
    if (client.gone.aborted) return;
    if (this.#isShutDown) client.shutDown();
    this.#clients.add(client);
    client.gone.addEventListener('abort', () => this.#clients.delete(client));
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Disconnects every client. Resolves when their connections are closed. */
  async shutDown(): Promise<void> {
    this.#isShutDown = true;
    const clients = [...this.#clients];
    const gone = clients.map(
      (client) => new Promise((resolve) => client.gone.addEventListener('abort', resolve)),
    );
    for (const client of clients) client.shutDown();
    await Promise.all(gone);
  }
}

/** Sleeps until a time in milliseconds since the epoch. False if the signal aborts first. */
export function sleepUntil(time: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return clock.sleep(Math.max(0, time - clock.now()), signal).then(
    () => true,
    () => false, // aborted
  );
}
