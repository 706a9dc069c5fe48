import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { AppError } from '../errors.ts';
import { basePathOf } from '../http/env.ts';

/**
 * The cookie that holds the access token of a browser session. Over https its name starts with `__Host-`, so
 * that browsers accept and send it over https only, and other hosts cannot set it. Below a base path that is
 * `__Secure-`, because `__Host-` cookies are sent to all paths, and what else the proxy serves must not get the token.
 */
const NAME = 'backup-observatory';

const prefixOf = (c: Context) => (basePathOf(c) === '' ? 'host' : 'secure');
const optionsFor = (c: Context) =>
  ({ path: basePathOf(c) || '/', httpOnly: true, sameSite: 'Strict' }) as const;

/** The token in the session cookie; null without one. */
export function readSessionCookie(c: Context): string | null {
  // Only https can have set this one. Behind a proxy we may not know that the browser uses https.
  const secure = getCookie(c, NAME, prefixOf(c));
  return secure || (isHttps(c) ? null : getCookie(c, NAME)) || null;
}

/**
 * Throws BAD_REQUEST if a proxy claims https while the browser uses http: the browser would drop the cookie, and the
 * page would ask for the login again and again.
 */
export function rejectFalseHttps(c: Context): void {
  if (!claimsHttps(c) || !/^http:/i.test(c.req.header('origin') ?? '')) return;
  throw new AppError(
    'BAD_REQUEST',
    'the proxy claims https (X-Forwarded-Proto), but the browser uses http and would drop the session cookie: open the page over https, or let the proxy send the real scheme (nginx: proxy_set_header X-Forwarded-Proto $scheme;)',
  );
}

/** Stores a token in the browser for `seconds`. Scripts cannot read it, and other sites' pages do not send it. */
export function setSessionCookie(c: Context, token: string, seconds: number): void {
  const options = { ...optionsFor(c), maxAge: seconds };
  if (!isHttps(c)) setCookie(c, NAME, token, options);
  else if (prefixOf(c) === 'secure')
    setCookie(c, NAME, token, { ...options, secure: true, prefix: 'secure' });
  else setCookie(c, NAME, token, { ...options, path: '/', secure: true, prefix: 'host' });
}

/** Deletes the token from the browser. */
export function clearSessionCookie(c: Context): void {
  const options = optionsFor(c);
  deleteCookie(c, NAME, options);
  const prefix = prefixOf(c) === 'host' ? '__Host-' : '__Secure-';
  if (isHttps(c)) deleteCookie(c, `${prefix}${NAME}`, { ...options, secure: true });
}

/**
 * Whether the browser uses https, according to X-Forwarded-Proto from a proxy or Origin from the browser. Forging them
 * is harmless: a false value only selects a cookie name that the forger's own browser does not have.
 */
function isHttps(c: Context): boolean {
  return (
    claimsHttps(c) ||
    /^https:/i.test(c.req.header('origin') ?? '') ||
    new URL(c.req.url).protocol === 'https:'
  );
}

function claimsHttps(c: Context): boolean {
  const forwarded = c.req.header('x-forwarded-proto')?.split(',') ?? [];
  return forwarded.some((scheme) => scheme.trim().toLowerCase() === 'https');
}
