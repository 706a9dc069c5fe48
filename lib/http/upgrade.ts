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
 * connection ends, and with it the answer; or a handler takes the connection instead.
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
    // Node's server, which says it of other answers, has let go of the connection.
    request.socket.once('close', this.#end);
    this.once('finish', () => {
      this.detachSocket(request.socket);
      lingerAfterEnd(request.socket);
      socket.end();
    });
  }

  readonly #end = (): void => {
    this.destroyed = true;
    this.emit('close');
  };

  /** Gives the connection away. Nothing may have been written to the answer. */
  takeConnection(): UpgradedConnection {
    const { socket } = this.req;
    socket.off('close', this.#end);
    this.detachSocket(socket);
    this.#onTaken();
    return { request: this.req, socket, head: this.#head };
  }
}

/** Is it the handshake of a WebSocket? Other protocols are not offered, so asking for one changes nothing. */
export function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}
