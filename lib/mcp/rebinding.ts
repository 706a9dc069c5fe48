import type { MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../platform/config/http.ts';
import { AppError } from '../platform/errors.ts';
import type { ReadConnection } from '../platform/http/client-address.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { isInNetworks, isLoopback, parseNetworks } from '../platform/network.ts';

const localHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Keeps web pages from a server on their visitor's machine. Over a loopback connection, unless its peer is
 * one of TRUSTED_PROXIES, the Host must be localhost, 127.0.0.1 or [::1], with any port (spec 3,
 * Transports). A page's Origin must be one of these too, or the server's own; programs send none, and
 * editors one without http. Others get 403.
 */
export function refuseRebinding(
  config: HttpConfig,
  readConnection: ReadConnection,
): MiddlewareHandler<HttpEnv> {
  const trusted = parseNetworks(config.TRUSTED_PROXIES);
  return async (c, next) => {
    const { peer } = readConnection(c, config.TRUST_PROXY_HEADER);
    const host = c.req.header('host') ?? '';
    if (isLoopback(peer) && !isInNetworks(peer, trusted) && !localHost.test(host)) {
      throw new AppError(
        'FORBIDDEN',
        'over a loopback connection the Host must be localhost, 127.0.0.1 or [::1]',
      );
    }
    const origin = c.req.header('origin');
    if (origin !== undefined && !mayAsk(origin, host)) {
      throw new AppError('FORBIDDEN', 'pages of other origins may not ask');
    }
    await next();
  };
}

function mayAsk(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  if (protocol !== 'http:' && protocol !== 'https:') return true;
  return localHost.test(originHost) || originHost === host.toLowerCase();
}
