import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { AppError } from '../errors.ts';
import type { HttpEnv } from './env.ts';

/** Largest request body, 1 MiB. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Refuses a body above `maxBytes` with 413, by its declared length or as soon as it has grown past it. */
export function limitBody(maxBytes: number): MiddlewareHandler<HttpEnv> {
  const limit = bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw new AppError('PAYLOAD_TOO_LARGE', `the request body is larger than ${maxBytes} bytes`);
    },
  });
  return async (c, next) => {
    // A request without a body is not even asked for one: that would build a whole Request object.
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    try {
      return await limit(c, next);
    } catch (cause) {
      // What a handler throws is answered before it comes here: this is a client that stopped sending.
      if (!(cause instanceof Error) || cause instanceof AppError) throw cause;
      throw new AppError('BAD_REQUEST', 'the request body could not be read', { cause });
    }
  };
}
