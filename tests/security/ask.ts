import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** One request, sent as written: neither its path nor its headers are normalized. */
export interface Question {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The response is an endless stream: its head is enough. */
  endless?: boolean;
}

export interface PlainAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** Sends a request to a server on this machine over a new connection. */
export async function ask(origin: string, question: Question): Promise<PlainAnswer> {
  const { method, path, headers = {}, body, endless = false } = question;
  const { hostname, port } = new URL(origin);
  const outgoing = request({ hostname, port, method, path, headers, agent: false });
  outgoing.end(body);
  const upgraded = once(outgoing, 'upgrade').then(([response, socket]) => {
    socket.destroy();
    return [response as IncomingMessage, true] as const;
  });
  const answered = once(outgoing, 'response').then(
    ([response]) => [response as IncomingMessage, false] as const,
  );
  // The promise that does not resolve rejects when the connection ends.
  upgraded.catch(() => undefined);
  answered.catch(() => undefined);
  const [response, isOver] = await Promise.race([answered, upgraded]);
  const status = response.statusCode ?? 0;
  const isStream = endless && status < 300;
  if (isStream) outgoing.destroy();
  return {
    status,
    headers: response.headers,
    text: isOver || isStream ? '' : await text(response),
  };
}
