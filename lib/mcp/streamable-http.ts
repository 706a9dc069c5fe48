import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { type GuardOptions, guardTransport } from './guarded-transport.ts';
import type { CreateMcpServer } from './server.ts';

/**
 * Answers one POST of streamable HTTP. Stateless: each request has a server of its own and there are no
 * session ids, so that any instance can answer any request. What runs is canceled when the client goes
 * away, since its answer could not be fetched later. (spec 3, Transports)
 */
export async function answerStreamableHttp(
  request: Request,
  createServer: CreateMcpServer,
  guard: GuardOptions,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport();
  const server = createServer();
  const guarded = guardTransport(transport, guard);
  await server.connect(guarded);
  request.signal.addEventListener('abort', () => void server.close(), { once: true });
  const response = await transport.handleRequest(request);
  // A request that was canceled by a message beside it gets no response, and the stream would wait for it.
  void guarded.settled().then(() => server.close());
  return response;
}
