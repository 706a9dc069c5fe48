import type { MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { AppError } from '../errors.ts';
import type { ReadConnection } from '../http/client-address.ts';
import type { HttpEnv } from '../http/env.ts';
import { isInNetworks, isLoopback, parseNetworks } from '../text/network.ts';

const localHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Protects a local server from web pages in a browser on the same machine (DNS rebinding). Over a loopback
 * connection, unless from TRUSTED_PROXIES, the Host must be localhost, 127.0.0.1 or [::1], with any port. A page's
 * Origin must be the server's own; programs send none, and editors one without http. Throws FORBIDDEN otherwise.
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
        'over a loopback connection the Host must be localhost, 127.0.0.1 or [::1]: if a proxy on this machine passes requests on, list its address in TRUSTED_PROXIES',
      );
    }
    if (c.get('isCrossSite') && c.req.header('origin') !== undefined) {
      throw new AppError('FORBIDDEN', 'pages of other origins may not send requests');
    }
    await next();
  };
}
