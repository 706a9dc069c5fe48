import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { AppError } from '../platform/errors.ts';
import { refuseMalformed } from '../platform/http/client-error.ts';
import type { UpgradedConnection } from '../platform/http/upgrade.ts';

/** Largest message of a client; a larger one closes the connection with 1009 (decisions 4). */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** The versions of the protocol that the library speaks. */
const versions = ['13', '8'];
/** 16 bytes in base64 (RFC 6455, 4.1). */
const key = /^[+/0-9A-Za-z]{22}==$/;

/** Throws UPGRADE_REQUIRED, or BAD_REQUEST for a malformed key, when a request is no handshake. */
export function checkHandshake(header: (name: string) => string | undefined): void {
  if (!versions.includes(header('sec-websocket-version') ?? '')) {
    throw upgradeRequired();
  }
  if (!key.test(header('sec-websocket-key') ?? '')) {
    throw new AppError('BAD_REQUEST', 'Sec-WebSocket-Key must be 16 bytes in base64');
  }
}

/** The answer to a request for a WebSocket that does not ask for one, or for another version of it. */
export function upgradeRequired(): AppError {
  return new AppError('UPGRADE_REQUIRED', 'the handshake of a WebSocket is required', {
    headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': versions.join(', ') },
  });
}

/** Completes handshakes that were accepted. */
export class Handshakes {
  /** Made by the first handshake: where there are no connections to take, the library may lack it. */
  #server: WebSocketServer | null = null;
  readonly #headers = new WeakMap<IncomingMessage, Headers>();

  /** Answers 101 with these headers; null when the handshake was malformed or its client is gone. */
  complete({ request, socket, head }: UpgradedConnection, headers: Headers): WebSocket | null {
    let opened: WebSocket | null = null;
    this.#headers.set(request, headers);
    this.#server ??= this.#createServer();
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
      refuseMalformed(error, request.socket, { answering: false, inBody: false }),
    );
    return server;
  }
}

/** Headers of a body mean nothing on a connection without one. */
function belongsToHandshake(name: string): boolean {
  return name === 'x-request-id' || name.startsWith('ratelimit-');
}
