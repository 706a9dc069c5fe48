import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { LiveClient, sleepUntil, WRITE_DEADLINE_MS } from './live-client.ts';
import type { LogBatch } from './log-batch.ts';
import { joinBuffers } from './outbox.ts';

const PING_MS = 30_000;
const ANSWER_WITHIN_MS = 75_000;
/** Close codes of RFC 6455 and its registry. */
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

/** A client of /ws/live. */
export class SocketClient extends LiveClient {
  #connection: { ws: WebSocket; socket: Duplex } | null = null;
  /** When the unfinished writes began, oldest first. */
  #unwritten: { startedAt: number }[] = [];
  #isWatching = false;
  #lastSeen = 0;

  /** Starts sending on a connection whose handshake is complete. */
  open(ws: WebSocket, socket: Duplex, history: LogBatch): void {
    this.#connection = { ws, socket };
    const seen = () => {
      this.#lastSeen = this.options.clock.now();
    };
    for (const sign of ['pong', 'ping', 'message'] as const) ws.on(sign, seen);
    // The library closes the connection of a client that violates the protocol.
    ws.on('error', () => undefined);
    ws.once('close', () => this.end());
    socket.on('drain', () => this.outbox.drained());
    seen();
    this.outbox.open(history);
    void this.#live(ws);
  }

  /** Ends a client that disconnected before it was opened. */
  abandon(): void {
    this.end();
  }

  override shutDown(): void {
    if (this.#connection) void this.#close(GOING_AWAY, 'the server is going away');
    else this.abandon();
  }

  async #live(ws: WebSocket): Promise<void> {
    const { clock, durationMs } = this.options;
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
   * Writes all messages at once, bypassing the library, which would frame each message again for every client.
   * The library writes whole frames too, so they do not mix.
   */
  protected override write(batches: readonly LogBatch[]): boolean {
    if (!this.#connection) return true;
    const { ws, socket } = this.#connection;
    if (ws.readyState !== ws.OPEN) return true;
    const write = { startedAt: this.options.clock.now() };
    const hasRoom = socket.write(joinBuffers(batches.map((batch) => batch.frames())), () =>
      this.#written(write),
    );
    if (socket.writableLength > 0) {
      this.#unwritten.push(write);
      void this.#enforceDeadlines(ws);
    }
    return hasRoom;
  }

  protected override dropSlow(): void {
    void this.#close(TRY_AGAIN_LATER, 'too slow');
  }

  #written(write: { startedAt: number }): void {
    this.#unwritten = this.#unwritten.filter((other) => other !== write);
  }

  /** Closes the connection when a write takes too long. */
  async #enforceDeadlines(ws: WebSocket): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { clock } = this.options;
    for (let [oldest] = this.#unwritten; oldest; [oldest] = this.#unwritten) {
      if (!(await sleepUntil(oldest.startedAt + WRITE_DEADLINE_MS, clock, this.left))) return;
      if (this.#unwritten[0] === oldest) return ws.terminate();
    }
    this.#isWatching = false;
  }

  async #close(code: number, reason: string): Promise<void> {
    this.leave();
    const { ws } = this.#connection ?? {};
    ws?.close(code, reason);
    if (await this.isOverdue()) ws?.terminate();
  }
}
