import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { lingerAfterEnd } from './client-error.ts';

/** A connection that left HTTP: from now on it belongs to whoever took it. */
export interface UpgradedConnection {
  request: IncomingMessage;
  socket: Duplex;
  /** What the client sent behind its request. */
  head: Buffer;
}

/**
 * The answer to a request that asks for an upgrade. Written to, it is an ordinary answer after which the
 * connection ends; or a handler takes the connection instead.
 */
export class UpgradeResponse extends ServerResponse {
  readonly #head: Buffer;
  readonly #onTaken: () => void;

  constructor(connection: UpgradedConnection, onTaken: () => void) {
    const { request, socket, head } = connection;
    super(request);
    this.#head = head;
    this.#onTaken = onTaken;
    this.shouldKeepAlive = false;
    this.assignSocket(request.socket);
    this.once('finish', () => {
      this.detachSocket(request.socket);
      lingerAfterEnd(request.socket);
      socket.end();
    });
  }

  /** Gives the connection away. Nothing may have been written to the answer. */
  takeConnection(): UpgradedConnection {
    const { socket } = this.req;
    this.detachSocket(socket);
    this.#onTaken();
    return { request: this.req, socket, head: this.#head };
  }
}

/** Is it the handshake of a WebSocket? Other protocols are not offered, so asking for one changes nothing. */
export function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}
