import type { Context, MiddlewareHandler } from 'hono';
import type { HttpConfig } from '../config/http.ts';
import { carriesInternalSecret } from './authentication.ts';
import type { HttpEnv } from './env.ts';
import { isInNetworks, type Network, parseAddress, parseNetworks } from './network.ts';

/** Who is at the other end of the connection, and what the forwarded header says. */
export interface Connection {
  peer: string;
  forwarded: string | undefined;
}

/** Reads the connection of a request. `header` is TRUST_PROXY_HEADER. */
export type ReadConnection = (c: Context<HttpEnv>, header: string) => Connection;

/** Counted as one client: requests whose peer is not known. */
const UNKNOWN_PEER = 'unknown';

/** The peer is the socket's, as on a server of our own. */
export const readSocketConnection: ReadConnection = (c, header) => ({
  peer: c.env?.incoming?.socket.remoteAddress ?? UNKNOWN_PEER,
  forwarded: c.req.header(header),
});

/**
 * The peer is the one that the serverless platform vouches for: it sets x-real-ip itself and drops what
 * a client sent under that name. It also writes the same address into X-Forwarded-For, which is then
 * its own word and no address that the caller forwards.
 */
export const readPlatformConnection: ReadConnection = (c, header) => {
  const peer = parseAddress(c.req.header('x-real-ip') ?? '') ?? UNKNOWN_PEER;
  const entries = c.req.header(header)?.split(',') ?? [];
  if (parseEntry(entries.at(-1) ?? '') === peer) entries.pop();
  return { peer, forwarded: entries.join(',') };
};

export interface ClientAddress {
  /** The address that limits and logs count by. */
  client: string;
  /** What the forwarded header gave, null when it was not read or held no address. */
  forwarded: string | null;
}

/**
 * The client of a request: the peer, unless the peer is a trusted proxy or the bearer of the internal
 * secret. Then the forwarded header counts, from the right, up to the first address that is not a
 * trusted proxy; malformed entries are skipped, and with none left it is the peer.
 */
export function resolveClientAddress(
  { peer, forwarded }: Connection,
  trusted: readonly Network[],
  bearsSecret: boolean,
): ClientAddress {
  const address = parseAddress(peer) ?? peer;
  if (!bearsSecret && !isInNetworks(address, trusted)) return { client: address, forwarded: null };
  const found =
    (forwarded ?? '')
      .split(',')
      .map(parseEntry)
      .findLast((entry) => entry !== null && !isInNetworks(entry, trusted)) ?? null;
  return { client: found ?? address, forwarded: found };
}

/** Finds out the client of each request and whether it bears the internal secret. */
export function identifyClient(
  config: HttpConfig,
  readConnection: ReadConnection,
): MiddlewareHandler<HttpEnv> {
  const trusted = parseNetworks(config.TRUSTED_PROXIES);
  return async (c, next) => {
    const bearsSecret = carriesInternalSecret(c, config);
    const connection = readConnection(c, config.TRUST_PROXY_HEADER);
    const { client, forwarded } = resolveClientAddress(connection, trusted, bearsSecret);
    c.set('hasInternalSecret', bearsSecret);
    c.set('clientAddress', client);
    c.set('forwardedAddress', bearsSecret ? forwarded : null);
    await next();
  };
}

/** One entry of the header: an address, `ip:port`, `[v6]` or `[v6]:port`. */
function parseEntry(entry: string): string | null {
  const text = entry.trim();
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text);
  if (bracketed?.[1] !== undefined)
    return bracketed[1].includes(':') ? parseAddress(bracketed[1]) : null;
  const withPort = /^([\d.]+):\d{1,5}$/.exec(text);
  return parseAddress(withPort?.[1] ?? text);
}
