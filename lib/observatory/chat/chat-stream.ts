import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { ChatEvent } from '../base/chat-events.ts';

/** How much is buffered for a slow client before the turn waits. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** Proxies cut a connection on which nothing is sent for a minute, or even less. */
const PING_MS = 15_000;
const PING = ': ping\n\n';
/** How long a client may take to read the end of its answer. */
const READ_WITHIN_MS = 60_000;

/** The body of POST /chat/stream: `data: <json>` and a blank line for each event, and comments meanwhile. */
export class ChatStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #gone = new AbortController();
  readonly #ended = new AbortController();
  readonly #client: AbortSignal;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #makeRoom: () => void = () => undefined;

  /** `client` aborts when the client disconnects, also before it reads the body. */
  constructor(client: AbortSignal) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#makeRoom(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: MAX_BUFFERED_BYTES, size: (bytes) => bytes.byteLength },
    );
    this.#client = client;
    if (client.aborted) this.#leave();
    else client.addEventListener('abort', this.#leave);
  }

  /** Aborts when the client disconnects. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves when there is room for more, or when the signal aborts. Drops events once the client has disconnected. */
  async send(event: ChatEvent, signal: AbortSignal): Promise<void> {
    const controller = this.#controller;
    if (controller === null) return;
    controller.enqueue(this.#encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
    if ((controller.desiredSize ?? 0) > 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    this.#makeRoom = stop;
    signal.addEventListener('abort', stop);
    await promise;
    signal.removeEventListener('abort', stop);
  }

  /** Ends the answer. */
  close(): void {
    this.#client.removeEventListener('abort', this.#leave);
    this.#controller?.close();
    this.#controller = null;
    this.#ended.abort();
  }

  /** Sends a comment every 15 seconds until the answer ends, unless the client has enough to read. */
  async keepAlive(clock: Clock): Promise<void> {
    const rest = () =>
      clock.sleep(PING_MS, this.#ended.signal).then(
        () => true,
        () => false, // ended
      );
    while (await rest()) {
      if (this.#controller?.desiredSize === MAX_BUFFERED_BYTES) {
        this.#controller.enqueue(this.#encoder.encode(PING));
      }
    }
  }

  readonly #leave = (): void => {
    this.#controller = null;
    this.#ended.abort();
    this.#makeRoom();
    this.#gone.abort();
  };
}

/** Closes the connection of a client that does not read the end of its answer in time. */
export async function cutWhenUnread(
  outgoing: ServerResponse | undefined,
  clock: Clock,
): Promise<void> {
  if (!outgoing || outgoing.closed) return;
  const closed = new AbortController();
  outgoing.once('close', () => closed.abort());
  await clock.sleep(READ_WITHIN_MS, closed.signal).then(
    () => outgoing.destroy(),
    () => undefined, // it was read
  );
}
