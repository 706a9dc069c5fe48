import { randomUUID } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './env.ts';

const ACCEPTED = /^[A-Za-z0-9._-]{1,64}$/;

/** The client's X-Request-ID if it is well formed, otherwise a random id. */
export function chooseRequestId(given: string | null | undefined): string {
  return given && ACCEPTED.test(given) ? given : randomUUID();
}

/** Sets the request's id, and X-Request-ID on its response. */
export const assignRequestId: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const id = chooseRequestId(c.req.header('x-request-id'));
  c.set('requestId', id);
  await next();
  c.res.headers.set('X-Request-ID', id);
};
