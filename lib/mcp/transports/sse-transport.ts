import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** The transport of one session over the older HTTP transport. */
export interface SseTransport extends Transport {
  readonly sessionId: string;
  /** The body of the answer to GET /sse. */
  readonly stream: ReadableStream<Uint8Array>;
  /** Passes a message of the client to the server. */
  receive(message: JSONRPCMessage): void;
  /** Writes a comment to keep the connection alive. */
  keepAlive(): void;
}

/** Maximum bytes that wait for a client that does not read. The session ends above it. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * Creates a transport that sends events on a stream and gets messages through `receive`. The first event contains
 * the address for messages, `<endpoint>?sessionId=…`.
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
      // The client has already canceled the stream.
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
