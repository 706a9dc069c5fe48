import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

/**
 * The cookie that holds the access token of a browser session. Over https its name starts with `__Host-`, so
 * that browsers accept and send it over https only, and other hosts cannot set it.
 */
const NAME = 'backup-observatory';

/** The token in the session cookie; null without one. */
export function readSessionCookie(c: Context): string | null {
  // Only https can have set this one. Behind a proxy we may not know that the browser uses https.
  const secure = getCookie(c, NAME, 'host');
  return secure || (isHttps(c) ? null : getCookie(c, NAME)) || null;
}

/** Stores a token in the browser for `seconds`. Scripts cannot read it, and other sites' pages do not send it. */
export function setSessionCookie(c: Context, token: string, seconds: number): void {
  const options = { path: '/', httpOnly: true, sameSite: 'Strict', maxAge: seconds } as const;
  setCookie(c, NAME, token, isHttps(c) ? { ...options, secure: true, prefix: 'host' } : options);
}

/** Deletes the token from the browser. */
export function clearSessionCookie(c: Context): void {
  const options = { path: '/', httpOnly: true, sameSite: 'Strict' } as const;
  deleteCookie(c, NAME, options);
  if (isHttps(c)) deleteCookie(c, `__Host-${NAME}`, { ...options, secure: true });
}

/**
 * Whether the browser uses https, according to X-Forwarded-Proto from a proxy or Origin from the browser. Forging them
 * is harmless: a false value only selects a cookie name that the forger's own browser does not have.
 */
function isHttps(c: Context): boolean {
  const forwarded = c.req.header('x-forwarded-proto')?.split(',') ?? [];
  return (
    forwarded.some((scheme) => scheme.trim() === 'https') ||
    /^https:/i.test(c.req.header('origin') ?? '') ||
    new URL(c.req.url).protocol === 'https:'
  );
}
