import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestError } from '@hono/node-server';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import { describeError } from './error-response.ts';
import { chooseRequestId } from './request-id.ts';

/**
 * Can an address be made of the Host header and the target? Without one the app could not tell what was
 * asked. Two hosts are none, and so is one that holds more than a name and a port.
 */
export function hasUsableAddress(request: IncomingMessage): boolean {
  const { rawHeaders, headers, url: target = '' } = request;
  const { host = '' } = headers;
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(`http://${host}/`)) return false;
  const isHost = (text: string, index: number) => index % 2 === 0 && /^host$/i.test(text);
  if (rawHeaders.filter(isHost).length > 1) return false;
  const [path = ''] = target.split('?', 1);
  // A backslash is a slash to some who read an address, and none to others.
  if (path.includes('\\')) return false;
  return path.startsWith('/') || isAbsolute(target);
}

/** Is it an address without credentials, as a request through a proxy names it? */
function isAbsolute(target: string): boolean {
  if (!/^https?:\/\//.test(target) || !URL.canParse(target)) return false;
  const { username, password } = new URL(target);
  return username === '' && password === '';
}

/** Answers 400 and closes the connection; a request id of the client's is kept. */
export function refuseAddress(request: IncomingMessage, response: ServerResponse): void {
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

/** A request that never reached the app, or an app that failed outside of its own error handler. */
export function answerUnserved(thrown: unknown, log: Log): Response {
  const requestId = chooseRequestId(null);
  const malformed = thrown instanceof RequestError;
  if (!malformed) log.error('a request failed', { request_id: requestId, error: thrown });
  const error = malformed
    ? new AppError('BAD_REQUEST', 'malformed request')
    : new AppError('INTERNAL_ERROR', `internal error, request id ${requestId}`);
  const { status, headers, body } = describeError(error, requestId);
  return Response.json(body, { status, headers: { ...headers, 'X-Request-ID': requestId } });
}
