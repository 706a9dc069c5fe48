import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { CookieOptions } from 'hono/utils/cookie';

/**
 * The cookie that holds the access token of a login in a browser. Over https it is `__Host-session`, which a
 * browser takes and sends over https alone.
 */
const NAME = 'session';

/** The token of the session cookie; null without one. */
export function readSessionCookie(c: Context): string | null {
  const prefix = isHttps(c) ? 'host' : undefined;
  return getCookie(c, NAME, prefix) || null;
}

/** Makes the browser keep a token for `seconds`. No script can read it and no other site's page sends it. */
export function setSessionCookie(c: Context, token: string, seconds: number): void {
  setCookie(c, NAME, token, { ...optionsFor(c), maxAge: seconds });
}

/** Makes the browser forget the token. */
export function clearSessionCookie(c: Context): void {
  const { prefix: _, ...options } = optionsFor(c);
  deleteCookie(c, isHttps(c) ? `__Host-${NAME}` : NAME, options);
}

function optionsFor(c: Context): CookieOptions {
  const common = { path: '/', httpOnly: true, sameSite: 'Strict' } as const;
  return isHttps(c) ? { ...common, secure: true, prefix: 'host' } : common;
}

/**
 * Does the browser use https? Anybody's word is good enough: who forwards a false one only chooses a name
 * under which the browser does not find its own cookie.
 */
function isHttps(c: Context): boolean {
  const forwarded = c.req.header('x-forwarded-proto')?.split(',').at(-1)?.trim();
  return (forwarded ?? new URL(c.req.url).protocol.slice(0, -1)) === 'https';
}
