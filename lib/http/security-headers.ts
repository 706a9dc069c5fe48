import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './env.ts';

/** Defaults for responses that are data. Handlers that send a page or allow caching set their own values. */
const defaults = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-store'],
] as const;

/** Adds the security headers that the handler did not set. */
export const setSecurityHeaders: MiddlewareHandler<HttpEnv> = async (c, next) => {
  await next();
  const { headers } = c.res;
  for (const [name, value] of defaults) {
    if (!headers.has(name)) headers.set(name, value);
  }
};
