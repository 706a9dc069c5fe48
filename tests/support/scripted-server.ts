import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a scripted server received. */
export interface ReceivedRequest {
  method: string;
  /** Path with query. */
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** What to answer: a status with a body, or whatever a function does with the response. */
export type ScriptedAnswer =
  | { status?: number; headers?: Record<string, string>; body?: unknown }
  | ((response: ServerResponse) => void);

export interface ScriptedServer {
  url: string;
  /** Every request so far. */
  received: ReceivedRequest[];
  close(): Promise<void>;
}

/** A server on 127.0.0.1 with scripted responses that records its requests. A body that is not text is sent as JSON. */
export async function startScriptedServer(
  answer: (request: ReceivedRequest) => ScriptedAnswer,
): Promise<ScriptedServer> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const got = { method, path, headers, body: Buffer.concat(chunks).toString() };
    received.push(got);
    const scripted = answer(got);
    if (typeof scripted === 'function') return scripted(response);
    const { status = 200, headers: extra = {}, body = '' } = scripted;
    response.writeHead(status, extra).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
