import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { ProtocolServer } from '../base/protocol.ts';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';
import type { RunningRequests } from './running-requests.ts';

export interface StreamableOptions {
  createServer: () => ProtocolServer;
  guard: GuardOptions;
  /** Shared by the requests of a process. */
  running: RunningRequests;
  /** Identifies the client, as far as possible. */
  peer: string;
}

/**
 * Answers one POST of streamable HTTP with a body. Stateless: each request has its own server and there are no session
 * ids, so any instance can answer. Running requests are canceled when the client disconnects, since it could
 * not fetch the answer later, or when it sends a cancellation in another POST to this process.
 */
export async function answerStreamableHttp(
  given: Request,
  body: string,
  { createServer, guard, running, peer }: StreamableOptions,
): Promise<Response> {
  const { url, method, signal } = given;
  const headers = withBothTypes(given.headers);
  const request = new Request(url, { method, headers, body, signal });
  const transport = new WebStandardStreamableHTTPServerTransport();
  const server = createServer();
  const guarded = guardTransport(transport, guard);
  await server.connect(guarded);
  const post = running.join(peer, (message) => transport.onmessage?.(message));
  const deliver = guarded.onmessage;
  guarded.onmessage = (message, extra) => {
    post.note(message);
    deliver?.(message, extra);
  };
  request.signal.addEventListener('abort', () => void server.close(), { once: true });
  try {
    return await transport.handleRequest(request);
  } finally {
    // Closes the stream, which would otherwise wait for requests that were canceled in the same batch.
    void guarded.settled().then(() => {
      post.leave();
      return server.close();
    });
  }
}

/** The media types of streamable HTTP. The protocol requires clients to accept both. */
const answerTypes = ['application/json', 'text/event-stream'] as const;

/**
 * Replaces an Accept header that allows both types, by wildcard or by being absent, with their names, because
 * the SDK only looks for those. A header that excludes a type is left unchanged.
 */
function withBothTypes(headers: Headers): Headers {
  const accepted = headers.get('accept') || '*/*';
  if (!answerTypes.every((type) => allows(accepted, type))) return headers;
  const written = new Headers(headers);
  written.set('accept', answerTypes.join(', '));
  return written;
}

function allows(accepted: string, type: string): boolean {
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*'];
  return accepted
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .some(
      ([range = '', ...parameters]) =>
        ranges.includes(range) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)),
    );
}
