import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../clock.ts';
import { type LiveClient, sleepUntil, WRITE_DEADLINE_MS } from './client.ts';
import type { LogBatch } from './log-batch.ts';
import { joinBuffers, Outbox } from './outbox.ts';

const PING_MS = 30_000;
const ANSWER_WITHIN_MS = 75_000;
/** Close codes of RFC 6455 and its registry. */
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

export interface SocketClientOptions {
  clock: Clock;
  /** The connection is ended after this; Infinity for never. */
  durationMs: number;
  /** The client was given up because it reads too slowly. */
  onSlow(): void;
}

/** A client of /ws/live. Batches that are pushed before `open` wait. */
export class SocketClient implements LiveClient {
  readonly #options: SocketClientOptions;
  readonly #outbox: Outbox;
  readonly #left = new AbortController();
  readonly #gone = new AbortController();
  #connection: { ws: WebSocket; socket: Duplex } | null = null;
  /** When the writes began that the connection has not taken yet, oldest first. */
  #unwritten: { startedAt: number }[] = [];
  #isWatching = false;
  #lastSeen = 0;

  constructor(options: SocketClientOptions) {
    this.#options = options;
    this.#outbox = new Outbox({
      write: (batches) => this.#write(batches),
      onOverflow: () => {
        options.onSlow();
        void this.#close(TRY_AGAIN_LATER, 'too slow');
      },
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

  /** Begins on a connection whose handshake is done. */
  open(ws: WebSocket, socket: Duplex, history: LogBatch): void {
    this.#connection = { ws, socket };
    const seen = () => {
      this.#lastSeen = this.#options.clock.now();
    };
    for (const sign of ['pong', 'ping', 'message'] as const) ws.on(sign, seen);
    // The library closes the connection of a client that breaks the protocol.
    ws.on('error', () => undefined);
    ws.once('close', () => {
      this.#leave();
      this.#gone.abort();
    });
    socket.on('drain', () => this.#outbox.drained());
    seen();
    this.#outbox.open(history);
    void this.#live(ws);
  }

  /** The client went away before it was opened. */
  abandon(): void {
    this.#leave();
    this.#gone.abort();
  }

  shutDown(): void {
    if (this.#connection) void this.#close(GOING_AWAY, 'the server is going away');
    else this.abandon();
  }

  async #live(ws: WebSocket): Promise<void> {
    const { clock, durationMs } = this.#options;
    const endsAt = clock.now() + durationMs;
    let pingAt = clock.now() + PING_MS;
    const next = () => Math.min(pingAt, this.#lastSeen + ANSWER_WITHIN_MS, endsAt);
    while (await sleepUntil(next(), clock, this.left)) {
      const now = clock.now();
      if (now >= endsAt)
        return this.#close(GOING_AWAY, 'the connection has reached its time limit');
      if (now - this.#lastSeen >= ANSWER_WITHIN_MS) return ws.terminate();
      if (now < pingAt) continue;
      ws.ping();
      pingAt += PING_MS;
    }
  }

  /**
   * All messages in one write, past the library: it would frame each anew for every client. Its own
   * frames are written whole too, so they do not mix.
   */
  #write(batches: readonly LogBatch[]): boolean {
    if (!this.#connection) return true;
    const { ws, socket } = this.#connection;
    if (ws.readyState !== ws.OPEN) return true;
    const write = { startedAt: this.#options.clock.now() };
    const hasRoom = socket.write(joinBuffers(batches.map((batch) => batch.frames())), () =>
      this.#written(write),
    );
    if (socket.writableLength > 0) {
      this.#unwritten.push(write);
      void this.#enforceDeadlines(ws);
    }
    return hasRoom;
  }

  #written(write: { startedAt: number }): void {
    this.#unwritten = this.#unwritten.filter((other) => other !== write);
  }

  /** Cuts the connection when a write takes too long. */
  async #enforceDeadlines(ws: WebSocket): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { clock } = this.#options;
    for (let [oldest] = this.#unwritten; oldest; [oldest] = this.#unwritten) {
      if (!(await sleepUntil(oldest.startedAt + WRITE_DEADLINE_MS, clock, this.left))) return;
      if (this.#unwritten[0] === oldest) return ws.terminate();
    }
    this.#isWatching = false;
  }

  async #close(code: number, reason: string): Promise<void> {
    this.#leave();
    const { ws } = this.#connection ?? {};
    ws?.close(code, reason);
    const { clock } = this.#options;
    if (await sleepUntil(clock.now() + WRITE_DEADLINE_MS, clock, this.gone)) ws?.terminate();
  }

  #leave(): void {
    this.#outbox.close();
    this.#left.abort();
  }
}
