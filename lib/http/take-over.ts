import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';
import { AppError } from '../errors.ts';
import type { HttpEnv, TakeOver } from './env.ts';

/**
 * Lets the handler respond on the connection itself: for a stream with backpressure, or a WebSocket.
 * `takeOver` runs once all middleware has finished; the handler returns a response without a body. Needs the
 * middleware `handOverConnection`.
 */
export function takeOverConnection(c: Context<HttpEnv>, takeOver: TakeOver): void {
  c.set('takeOver', takeOver);
}

/** The error for runtimes that do not expose connections. */
export function connectionsUnavailable(): AppError {
  return new AppError(
    'SERVICE_UNAVAILABLE',
    'the live feed needs a Node.js server: this deployment runs without one',
    { headers: { 'Retry-After': '3600' } },
  );
}

/** Hands the connection to the handler that takes it over. Must be the outermost middleware. */
export const handOverConnection: MiddlewareHandler<HttpEnv> = async (c, next) => {
  await next();
  const takeOver = c.get('takeOver');
  if (!takeOver || c.error) return;
  takeOver(c.res.headers);
  // Without this the context would copy the headers into the next answer.
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
};

// Reading the body makes it an ordinary response: the adapter sends its cached ones without checking their
// headers.
void RESPONSE_ALREADY_SENT.body;
