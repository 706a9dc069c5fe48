import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { AppError } from '../errors.ts';
import { cleanText } from '../text/clean-text.ts';
import { isInNetworks, parseNetworks } from '../text/network.ts';
import type { ReadConnection } from './client-address.ts';
import type { HttpEnv } from './env.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects requests that a browser sends on behalf of another site's page with 403, before the rate limit: such a
 * page could otherwise use up its visitor's requests and login attempts. It rejects all such requests that may change
 * something, and reads that the browser marks as cross-site. Exceptions are navigations, WebSocket handshakes (which
 * check a list of origins themselves), and paths meant for other sites. Allowed cross-site requests are flagged, so
 * that they are rate limited separately.
 */
export function rejectCrossSite(
  config: HttpConfig,
  readConnection: ReadConnection,
  isForOtherSites: (path: string) => boolean,
): MiddlewareHandler<HttpEnv> {
  const proxies = parseNetworks(config.TRUSTED_PROXIES);

  /** The names by which the client may know the server: Host, and X-Forwarded-Host from a trusted proxy. */
  function hostsOf(c: Context<HttpEnv>): readonly string[] {
    const host = c.req.header('host') ?? new URL(c.req.url).host;
    const forwarded = c.req.header('x-forwarded-host')?.split(',').at(-1)?.trim();
    if (forwarded === undefined) return [host];
    const { peer } = readConnection(c, config.TRUST_PROXY_HEADER);
    const isTrusted = c.get('hasInternalSecret') || isInNetworks(peer, proxies);
    return isTrusted ? [host, forwarded] : [host];
  }

  return async (c, next) => {
    const site = c.req.header('sec-fetch-site')?.toLowerCase();
    const isCrossSite = isForeign(site, c.req.header('origin'), () => hostsOf(c));
    const isPublic = isReading(c) && isForOtherSites(c.req.path);
    if (isCrossSite && !isPublic && !isAllowed(c, site)) {
      throw new AppError('FORBIDDEN', explainRejection(site, c.req.header('origin'), hostsOf(c)));
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
 * Whether a page of another origin made the request. Sec-Fetch-Site comes first, since the Origin of our own
 * pages looks foreign behind a proxy that rewrites Host. Programs send neither header, and editors send an
 * Origin that is not a web page's.
 */
function isForeign(
  site: string | undefined,
  origin: string | undefined,
  hosts: () => readonly string[],
): boolean {
  if (site === 'same-origin' || site === 'none') return false;
  if (site === 'cross-site') return true;
  // Only same-site is left: another port, or another subdomain of the same site.
  if (origin === undefined) return site !== undefined;
  return !hosts().some((host) => isOriginOf(origin, host));
}

/**
 * Whether the request comes from a page of this server. Browsers declare this in Sec-Fetch-Site. Over plain http they
 * do so only for localhost; from other machines only changes declare it, in Origin.
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

const MAX_SHOWN = 200;

/**
 * What is wrong. Unless the browser says that the page is another site's, it is probably our own, behind a proxy that
 * changes the Host header or drops its port.
 */
function explainRejection(
  site: string | undefined,
  origin: string | undefined,
  hosts: readonly string[],
): string {
  const message = 'requests from pages of other origins are not allowed';
  if (site === 'cross-site' || origin === undefined || !URL.canParse(origin)) return message;
  const shown = (text: string) => cleanText(text, MAX_SHOWN);
  return `${message}: the page is at ${shown(new URL(origin).origin)}, but the request was sent to ${hosts.map(shown).join(' and ')}. If that is the same place, a proxy changes the Host header or drops its port: let it pass the header on (nginx: proxy_set_header Host $http_host;)`;
}

/** Whether the request has a safe method, which changes nothing. */
export function isReading(c: Context): boolean {
  return safeMethods.has(c.req.method);
}

function isAllowed(c: Context<HttpEnv>, site: string | undefined): boolean {
  if (!isReading(c)) return false;
  if (site !== 'cross-site') return true;
  if (c.req.header('upgrade')?.toLowerCase() === 'websocket') return true;
  // A top-level navigation. In a frame, the destination would not be a document.
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = c.req.header();
  return mode === 'navigate' && destination === 'document';
}

/**
 * Whether the origin is that of pages at `host`, or not a web page's. The scheme only determines the default
 * port.
 */
function isOriginOf(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  if (protocol !== 'http:' && protocol !== 'https:') return true;
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === originHost;
}
