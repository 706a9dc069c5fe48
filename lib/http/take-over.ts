import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, MiddlewareHandler } from 'hono';
import { AppError } from '../errors.ts';
import type { HttpEnv, TakeOver } from './env.ts';

/**
 * Lets the handler of this request answer on its connection, for an answer that goes on: a stream that
 * watches what the client has taken, a WebSocket. It begins when all middleware is through. The handler
 * returns an answer without a body for them. Takes `handOverConnection` in front.
 */
export function takeOverConnection(c: Context<HttpEnv>, takeOver: TakeOver): void {
  c.set('takeOver', takeOver);
}

/** The answer where there is none to take: the runtime keeps the connections of its clients to itself. */
export function noConnections(): AppError {
  return new AppError(
    'SERVICE_UNAVAILABLE',
    'the live feed needs a Node.js server: this deployment runs without one',
    { headers: { 'Retry-After': '3600' } },
  );
}

/** Hands the connection to the handler that asked for it. Goes before all other middleware. */
export const handOverConnection: MiddlewareHandler<HttpEnv> = async (c, next) => {
  await next();
  const takeOver = c.get('takeOver');
  if (!takeOver || c.error) return;
  takeOver(c.res.headers);
  // Without this the context would copy the headers into the next answer.
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
};

// Asked for its body, it is no longer one of the adapter's short-cut responses, which are sent whatever
// their headers say.
void RESPONSE_ALREADY_SENT.body;
