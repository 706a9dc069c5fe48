import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** The stream of one session of the protocol's first HTTP transport. */
export interface SseTransport extends Transport {
  readonly sessionId: string;
  /** The body of the answer to GET /sse. */
  readonly stream: ReadableStream<Uint8Array>;
  /** Hands a message of the client to the server. */
  receive(message: JSONRPCMessage): void;
  /** Writes a comment, so that nobody takes the connection for dead. */
  keepAlive(): void;
}

/** Bytes that may wait for a client that does not read. Above it the session ends. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * A session's transport: events to the client on a stream, messages from it through `receive`. The first
 * event names the address for messages, `<endpoint>?sessionId=…`.
 */
export function createSseTransport(endpoint: string, sessionId: string): SseTransport {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let closed = false;

  function end(): void {
    if (closed) return;
    closed = true;
    try {
      controller?.close();
    } catch (error) {
      // A stream that the client canceled is closed already.
      if (!(error instanceof TypeError)) throw error;
    }
    transport.onclose?.();
  }

  function write(text: string): void {
    if (closed || !controller) throw new Error('the session has ended');
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) < 0) end();
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );

  const transport: SseTransport = {
    sessionId,
    stream,
    async start() {
      write(`event: endpoint\ndata: ${endpoint}?sessionId=${encodeURIComponent(sessionId)}\n\n`);
    },
    async send(message) {
      write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    },
    async close() {
      end();
    },
    receive(message) {
      transport.onmessage?.(message);
    },
    keepAlive() {
      write(': keepalive\n\n');
    },
  };
  return transport;
}
