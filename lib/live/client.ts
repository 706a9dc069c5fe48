import type { Clock } from '../clock.ts';

/** For so long a connection that is being ended may take to take what was written. */
export const WRITE_DEADLINE_MS = 10_000;

/** A client of the live feed, for the shutdown. */
export interface LiveClient {
  /** Ends it in an orderly way; by force when it does not take part in time. */
  shutDown(): void;
  /** Aborted when its connection is gone. */
  gone: AbortSignal;
}

/** The clients of one process. */
export class LiveClients {
  readonly #clients = new Set<LiveClient>();
  #isShutDown = false;

  add(client: LiveClient): void {
    // It left before it was opened, and will not leave again.
    if (client.gone.aborted) return;
    if (this.#isShutDown) client.shutDown();
    this.#clients.add(client);
    client.gone.addEventListener('abort', () => this.#clients.delete(client));
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Ends every client. Resolves when their connections are gone. */
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

/** Sleeps until a time in milliseconds since the epoch. False when the signal aborts first. */
export function sleepUntil(time: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return clock.sleep(Math.max(0, time - clock.now()), signal).then(
    () => true,
    () => false, // aborted
  );
}
