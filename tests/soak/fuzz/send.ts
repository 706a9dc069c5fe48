import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import type { FuzzRequest } from './requests.ts';

/** An answer. */
export interface FuzzAnswer {
  status: number;
  headers: Record<string, string>;
  /** The body; for a stream that continues, its first event. */
  text: string;
  /** The time from the first byte of the request to the last byte of the answer, or to its first event. */
  durationMs: number;
}

/** Sends requests to a server, each from a different address than the ones before. */
export interface FuzzClient {
  send(request: FuzzRequest): Promise<FuzzAnswer>;
  /** The request in a form that a person can repeat. */
  describe(request: FuzzRequest): string;
  close(): void;
}

/** So many addresses that none gets near its limit of requests per minute. */
const ADDRESSES = 2_000;
/** Nothing takes this long, however busy the machine is; the request then counts as failed. */
const GIVE_UP_MS = 30_000;

/** The request's connection, which had carried requests before, has ended. */
class StaleConnectionError extends Error {}

/** A client with keep-alive connections. The server must trust this machine as a proxy. */
export function createFuzzClient(url: string): FuzzClient {
  const agent = new Agent({ keepAlive: true });
  let sent = 0;
  const nextAddress = () => {
    sent += 1;
    return `10.0.${Math.floor((sent % ADDRESSES) / 250)}.${sent % 250}`;
  };

  async function send(request: FuzzRequest): Promise<FuzzAnswer> {
    const startedAt = performance.now();
    const { answer, text } = await exchange(request).catch((error: unknown) => {
      // The server may end an idle connection at the moment it is used again (RFC 9112, 9.3.1).
      if (error instanceof StaleConnectionError) return exchange(request);
      throw error;
    });
    const headers = Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
    );
    const durationMs = performance.now() - startedAt;
    return { status: answer.statusCode ?? 0, headers, text, durationMs };
  }

  function exchange({ method, target, headers, body, encoding }: FuzzRequest) {
    return new Promise<{ answer: IncomingMessage; text: string }>((resolve, reject) => {
      const outgoing = openRequest(url, {
        agent,
        method,
        path: target,
        headers: {
          // Precedes what the request itself says, because the server reads from the right.
          ...headers,
          'X-Forwarded-For': nextAddress(),
          ...(body === null ? {} : { 'Content-Length': Buffer.byteLength(body, encoding) }),
        },
        timeout: GIVE_UP_MS,
      });
      let [gaveUp, received] = [false, ''];
      outgoing.on('timeout', () => {
        gaveUp = true;
        const what = received === '' ? 'no answer' : `nothing after ${received}`;
        outgoing.destroy(new Error(`${what} in ${GIVE_UP_MS} ms`));
      });
      outgoing.on('error', (error) => {
        const isStale = outgoing.reusedSocket && !gaveUp;
        reject(isStale ? new StaleConnectionError(error.message) : error);
      });
      outgoing.on('upgrade', (answer, socket) => {
        socket.destroy();
        resolve({ answer, text: '' });
      });
      outgoing.on('response', (answer) => {
        const hear = (text: string) => {
          received = `${answer.statusCode} ${text.slice(-500)}`;
        };
        hear('');
        readAnswer(answer, method, hear).then((text) => resolve({ answer, text }), reject);
      });
      outgoing.end(body === null ? undefined : Buffer.from(body, encoding));
    });
  }
  return {
    send,
    describe: (request) => describeAsCurl(url, request),
    close: () => agent.destroy(),
  };
}

async function readAnswer(
  answer: IncomingMessage,
  method: string,
  hear: (text: string) => void,
): Promise<string> {
  const isStream = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
  // A GET stream continues for minutes; its first event is enough.
  const goesOn = isStream && method === 'GET';
  let text = '';
  answer.setEncoding('utf8');
  for await (const chunk of answer) {
    text += chunk;
    hear(chunk);
    if (goesOn && text.includes('\n\n')) break;
  }
  return text;
}

/** Quotes for bash, which reads `$'…'` with escapes. */
function describeAsCurl(url: string, { method, target, headers, body, encoding }: FuzzRequest) {
  const options = Object.entries(headers).map(([name, value]) =>
    value === '' ? `-H ${quote(`${name};`)}` : `-H ${quote(`${name}: ${value}`, 'latin1')}`,
  );
  const data = body === null ? [] : [`--data-binary ${quote(shorten(body), encoding)}`];
  const how = method === 'HEAD' ? ['-I'] : [`-X ${method}`];
  const address = quote(`${url}${target}`, 'latin1');
  return ['curl -i --path-as-is', ...how, ...options, ...data, address].join(' ');
}

function quote(text: string, encoding: BufferEncoding = 'utf8'): string {
  if (/^[\w ./:?&=@{}"[\],;+*-]*$/.test(text)) return `'${text}'`;
  const bytes = [...Buffer.from(text, encoding)];
  const written = bytes.map((byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${written.join('')}'`;
}

/** Replaces a long run of the same character, as in a nested body, by its length. */
function shorten(text: string): string {
  if (text.length < 5_000) return text;
  return `${text.slice(0, 2_000)} …${text.length - 2_500} more… ${text.slice(-500)}`;
}
