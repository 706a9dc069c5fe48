import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { RequestError } from '@hono/node-server';
import { AppError } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { describeError } from '../error-response.ts';
import { chooseRequestId } from '../request-id.ts';

/**
 * Whether Host and the request target form a valid URL. Rejects duplicate Host headers, and hosts that are
 * more than a name and a port.
 */
export function hasValidTarget(request: IncomingMessage): boolean {
  const { rawHeaders, headers, url: target = '' } = request;
  const { host = '' } = headers;
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(`http://${host}/`)) return false;
  const isHost = (text: string, index: number) => index % 2 === 0 && /^host$/i.test(text);
  if (rawHeaders.filter(isHost).length > 1) return false;
  const [path = ''] = target.split('?', 1);
  // URL parsers disagree on whether a backslash is a slash.
  if (path.includes('\\')) return false;
  return path.startsWith('/') || isAbsolute(target);
}

/** Whether it is an absolute URL without credentials, as sent through a proxy. */
function isAbsolute(target: string): boolean {
  if (!/^https?:\/\//.test(target) || !URL.canParse(target)) return false;
  const { username, password } = new URL(target);
  return username === '' && password === '';
}

/** Responds 400 and closes the connection. Keeps the client's request id. */
export function rejectTarget(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  const requestId = chooseRequestId(typeof given === 'string' ? given : null);
  const error = new AppError('BAD_REQUEST', 'malformed request');
  const { status, headers, body } = describeError(error, requestId);
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...headers,
    'X-Request-ID': requestId,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  });
  response.end(text);
}

/** The response if a request never reached the app, or the app failed outside its error handler. */
export function respondToUnhandledError(thrown: unknown, log: Log): Response {
  const requestId = chooseRequestId(null);
  const malformed = thrown instanceof RequestError;
  if (!malformed) log.error('a request failed', { request_id: requestId, error: thrown });
  const error = malformed
    ? new AppError('BAD_REQUEST', 'malformed request')
    : new AppError('INTERNAL_ERROR', `internal error, request id ${requestId}`);
  const { status, headers, body } = describeError(error, requestId);
  return Response.json(body, { status, headers: { ...headers, 'X-Request-ID': requestId } });
}

const statuses: Record<string, { status: number; error: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request did not arrive in time' },
};

const LINGER_MS = 1_000;

/**
 * Responds to bytes that are not valid HTTP, or that arrived too slowly, and closes the connection. Writes
 * nothing if a response has already started (`responding`), since that would corrupt it. `inBody`: the bytes
 * were part of a request body, not the start of a request.
 */
export function rejectMalformed(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer },
  socket: Socket,
  { responding, inBody }: { responding: boolean; inBody: boolean },
): void {
  if (responding || !socket.writable || error.code === 'ECONNRESET') {
    socket.destroy(error);
    return;
  }
  const { status, error: message } = statuses[error.code ?? ''] ?? {
    status: 400,
    error: 'malformed request',
  };
  const requestId = chooseRequestId(null);
  const body = JSON.stringify({ error: message, request_id: requestId });
  lingerAfterEnd(socket);
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-ID: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      '',
      !inBody && isHeadRequest(error.rawPacket) ? '' : body,
    ].join('\r\n'),
  );
}

/** A response to HEAD has no body: the client would read it as the start of the next response. */
function isHeadRequest(packet?: Buffer): boolean {
  return /^(\r\n)*HEAD /.test(packet?.toString('latin1', 0, 64) ?? '');
}

/** Destroys a closing connection after a second, in case the client does not close its side. */
export function lingerAfterEnd(socket: Socket): void {
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
