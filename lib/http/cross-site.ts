import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { AppError } from '../errors.ts';
import type { ReadConnection } from './client-address.ts';
import type { HttpEnv } from './env.ts';
import { isInNetworks, parseNetworks } from './network.ts';

/** Requests that change nothing. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses with 403 what a browser sends for a page of another site, before it is counted: such a page could
 * otherwise use up the requests and the failed logins of its visitor's address. Whatever may change something
 * is refused, and of the rest what browsers mark as cross-site, but for opening a page and for the handshake
 * of a WebSocket, which has a list of origins. What is let through is marked, to be counted apart.
 */
export function refuseCrossSite(
  config: HttpConfig,
  readConnection: ReadConnection,
): MiddlewareHandler<HttpEnv> {
  const proxies = parseNetworks(config.TRUSTED_PROXIES);

  /** The names by which the client may know the server: its Host, and what it was in front of a proxy. */
  function hostsOf(c: Context<HttpEnv>): readonly string[] {
    const host = c.req.header('host') ?? new URL(c.req.url).host;
    const forwarded = c.req.header('x-forwarded-host')?.split(',').at(-1)?.trim();
    if (forwarded === undefined) return [host];
    const { peer } = readConnection(c, config.TRUST_PROXY_HEADER);
    const isVouchedFor = c.get('hasInternalSecret') || isInNetworks(peer, proxies);
    return isVouchedFor ? [host, forwarded] : [host];
  }

  return async (c, next) => {
    const site = c.req.header('sec-fetch-site')?.toLowerCase();
    const isCrossSite = isForeign(site, c.req.header('origin'), () => hostsOf(c));
    if (isCrossSite && !mayStillAsk(c, site)) {
      throw new AppError('FORBIDDEN', 'pages of other origins may not ask');
    }
    c.set('isCrossSite', isCrossSite);
    c.set(
      'isSameOrigin',
      isSameOrigin(site, c.req.header('origin'), () => hostsOf(c)),
    );
    await next();
  };
}

/**
 * Does a page of another origin stand behind a request? The word of a browser that knows decides, since the
 * Origin of a server's own pages looks foreign behind a proxy that replaces Host. Programs send neither
 * header, and editors an Origin that is no web page's.
 */
function isForeign(
  site: string | undefined,
  origin: string | undefined,
  hosts: () => readonly string[],
): boolean {
  if (site === 'same-origin' || site === 'none') return false;
  if (site === 'cross-site') return true;
  // What remains of the browsers' words is same-site: another port, or another name of the same owner.
  if (origin === undefined) return site !== undefined;
  return !hosts().some((host) => isOriginOf(origin, host));
}

/**
 * Does a page of this server stand behind a request? A browser tells by Sec-Fetch-Site; one that does not,
 * as over plain http from another machine, by the Origin of every change.
 */
function isSameOrigin(
  site: string | undefined,
  origin: string | undefined,
  hosts: () => readonly string[],
): boolean {
  if (site !== undefined) return site === 'same-origin';
  return (
    origin !== undefined &&
    /^https?:/i.test(origin) &&
    hosts().some((host) => isOriginOf(origin, host))
  );
}

/** Does the request's method promise to change nothing? */
export function isReading(c: Context): boolean {
  return safeMethods.has(c.req.method);
}

function mayStillAsk(c: Context<HttpEnv>, site: string | undefined): boolean {
  if (!isReading(c)) return false;
  if (site !== 'cross-site') return true;
  if (c.req.header('upgrade')?.toLowerCase() === 'websocket') return true;
  // A window that goes there; a frame within another page would be no document of its own.
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = c.req.header();
  return mode === 'navigate' && destination === 'document';
}

/** Is it an origin of pages at `host`, or of no web page? The scheme only says what the usual port is. */
function isOriginOf(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  if (protocol !== 'http:' && protocol !== 'https:') return true;
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === originHost;
}
