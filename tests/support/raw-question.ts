import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ChatServer } from './chat.ts';
import { signToken } from './observatory-client.ts';
import { connectRaw, type RawClient } from './raw-client.ts';

/** A question over its own connection, seen from both ends. */
export interface RawQuestion {
  client: RawClient;
  /** The server's end. */
  response: ServerResponse;
}

/** The channel on which Node.js announces each request to a server of this process. */
const REQUEST_START = 'http.server.request.start';

/** Asks as ada with POST, over a Unix socket. Resolves when the server has the request. */
export async function askRaw(server: ChatServer, path: string): Promise<RawQuestion> {
  const client = await connectRaw(server.socketPath);
  const body = JSON.stringify({ question: 'Is all well?' });
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${await signToken(server.deps, 'ada')}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const arrived = Promise.withResolvers<ServerResponse>();
  const look = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url === path) arrived.resolve(response);
  };
  subscribe(REQUEST_START, look);
  client.send(`${head.join('\r\n')}\r\n\r\n${body}`);
  const response = await arrived.promise;
  unsubscribe(REQUEST_START, look);
  return { client, response };
}
