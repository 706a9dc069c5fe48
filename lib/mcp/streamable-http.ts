import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';
import type { RunningRequests } from './running-requests.ts';

export interface StreamableOptions {
  createServer: () => Server;
  guard: GuardOptions;
  /** Shared by the requests of a process. */
  running: RunningRequests;
  /** What tells one client from another. */
  peer: string;
}

/**
 * Answers one POST of streamable HTTP. Stateless: each request has a server of its own and there are no
 * session ids, so that any instance can answer any request. What runs is canceled when the client goes
 * away, since its answer could not be fetched later, and when it says so in another POST to this process.
 */
export async function answerStreamableHttp(
  request: Request,
  { createServer, guard, running, peer }: StreamableOptions,
): Promise<Response> {
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
    // A request that was canceled by a message beside it gets no response, and the stream would wait for it.
    void guarded.settled().then(() => {
      post.leave();
      return server.close();
    });
  }
}
