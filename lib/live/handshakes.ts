import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { rejectMalformed } from '../http/server/malformed-requests.ts';
import type { UpgradedConnection } from '../http/server/upgrade.ts';

/** Maximum size of a client's message. A larger one closes the connection with 1009. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Completes accepted handshakes. Loaded with the first one, because it imports the WebSocket library. */
export class Handshakes {
  readonly #headers = new WeakMap<IncomingMessage, Headers>();
  readonly #server = this.#createServer();

  /** Answers 101 with these headers. Null if the handshake was malformed or the client disconnected. */
  complete({ request, socket, head }: UpgradedConnection, headers: Headers): WebSocket | null {
    let opened: WebSocket | null = null;
    this.#headers.set(request, headers);
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      opened = ws;
    });
    return opened;
  }

  #createServer(): WebSocketServer {
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    server.on('headers', (lines, request) => {
      for (const [name, value] of this.#headers.get(request) ?? []) {
        if (belongsToHandshake(name)) lines.push(`${name}: ${value}`);
      }
    });
    server.on('wsClientError', (error, _socket, request) =>
      rejectMalformed(error, request.socket, { responding: false, inBody: false }),
    );
    return server;
  }
}

/** Headers that describe a body do not belong to a handshake. */
function belongsToHandshake(name: string): boolean {
  return name === 'x-request-id' || name.startsWith('ratelimit-');
}
