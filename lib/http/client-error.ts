import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { chooseRequestId } from './request-id.ts';

const statuses: Record<string, { status: number; error: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'the request did not arrive in time' },
};

const LINGER_MS = 1_000;

/**
 * Answers a connection whose bytes are no request, or came too slowly, and ends it. Nothing is written
 * when an answer is already on its way (`answering`), since that would corrupt it. `inBody` says that the bytes
 * stand in the body of a request, not where one begins.
 */
export function refuseMalformed(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer },
  socket: Socket,
  { answering, inBody }: { answering: boolean; inBody: boolean },
): void {
  if (answering || !socket.writable || error.code === 'ECONNRESET') {
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
      !inBody && asksForHead(error.rawPacket) ? '' : body,
    ].join('\r\n'),
  );
}

/** Its client takes no body, whatever the status: what followed the headers would be no HTTP to it. */
function asksForHead(packet?: Buffer): boolean {
  return /^(\r\n)*HEAD /.test(packet?.toString('latin1', 0, 64) ?? '');
}

/** Cuts a connection whose end is being sent a second later: a client that does not close its side is not waited for. */
export function lingerAfterEnd(socket: Socket): void {
  socket.setTimeout(LINGER_MS, () => socket.destroy());
}
