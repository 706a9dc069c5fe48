import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { lingerAfterEnd } from './malformed-requests.ts';

/** A connection that left HTTP and now belongs to the handler that took it over. */
export interface UpgradedConnection {
  request: IncomingMessage;
  socket: Duplex;
  /** The bytes that the client sent after its request. */
  head: Buffer;
}

/**
 * The response to an upgrade request. A handler either writes to it like to any response, after which the
 * connection closes, or takes the connection over.
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
    // Node's server emits `close` for other responses, but no longer handles this connection.
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

  /** Hands the connection over. Nothing may have been written to the response. */
  takeConnection(): UpgradedConnection {
    const { socket } = this.req;
    socket.off('close', this.#end);
    this.detachSocket(socket);
    this.#onTaken();
    return { request: this.req, socket, head: this.#head };
  }
}

/** Whether it is a WebSocket handshake. Upgrades to other protocols are ignored. */
export function isWebSocketHandshake({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}
