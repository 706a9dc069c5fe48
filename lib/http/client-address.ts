import type { Context, MiddlewareHandler } from 'hono';
import { type Caller, onBehalfOf } from '../caller.ts';
import type { HttpConfig } from '../config/http.ts';
import { isInNetworks, type Network, parseAddress, parseNetworks } from '../text/network.ts';
import { hasInternalSecret } from './authentication.ts';
import type { HttpEnv } from './env.ts';

/** The address of the peer, and the content of the forwarded header. */
export interface Connection {
  peer: string;
  forwarded: string | undefined;
}

/** `header` is the value of TRUST_PROXY_HEADER. */
export type ReadConnection = (c: Context<HttpEnv>, header: string) => Connection;

/** Requests with an unknown peer count as one client. */
const UNKNOWN_PEER = 'unknown';

/** For our own server: the peer is the socket's remote address. */
export const readSocketConnection: ReadConnection = (c, header) => ({
  peer: c.env?.incoming?.socket.remoteAddress ?? UNKNOWN_PEER,
  forwarded: c.req.header(header),
});

/**
 * For the serverless platform, which sets x-real-ip itself and drops any value that the client sent. The
 * platform also appends that address to X-Forwarded-For; it is removed here, because only what the caller
 * forwarded counts.
 */
export const readPlatformConnection: ReadConnection = (c, header) => {
  const peer = parseAddress(c.req.header('x-real-ip') ?? '') ?? UNKNOWN_PEER;
  const entries = c.req.header(header)?.split(',') ?? [];
  if (parseEntry(entries.at(-1) ?? '') === peer) entries.pop();
  return { peer, forwarded: entries.join(',') };
};

export interface ClientAddress {
  /** The address used for rate limits and logs. */
  client: string;
  /** The address from the forwarded header; null if it was ignored or held none. */
  forwarded: string | null;
}

/**
 * Resolves the client of a request. It is the peer, unless the peer is a trusted proxy or sends the internal
 * secret. Then it is the rightmost address in the forwarded header that is not a trusted proxy. Malformed
 * entries are skipped; if none is left, it is the peer.
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

/**
 * Sets the client address of each request, and whether it has the internal secret. Handles it on behalf of that
 * address, until a user is recognized, or of the programs with the secret, which is one client of many users.
 */
export function identifyClient(
  config: HttpConfig,
  readConnection: ReadConnection,
): MiddlewareHandler<HttpEnv> {
  const trusted = parseNetworks(config.TRUSTED_PROXIES);
  return async (c, next) => {
    const bearsSecret = hasInternalSecret(c, config);
    const connection = readConnection(c, config.TRUST_PROXY_HEADER);
    const { client, forwarded } = resolveClientAddress(connection, trusted, bearsSecret);
    c.set('hasInternalSecret', bearsSecret);
    c.set('clientAddress', client);
    c.set('forwardedAddress', bearsSecret ? forwarded : null);
    const isProgram = bearsSecret && forwarded === null;
    const key = isProgram ? 'programs' : `address ${client}`;
    const caller: Caller = { key, isLimited: !isProgram, phase: 'checked', signal: null };
    await onBehalfOf(caller, next);
  };
}

/** Parses one entry of the header: an address, `ip:port`, `[v6]` or `[v6]:port`. */
function parseEntry(entry: string): string | null {
  const text = entry.trim();
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text);
  if (bracketed?.[1] !== undefined)
    return bracketed[1].includes(':') ? parseAddress(bracketed[1]) : null;
  const withPort = /^([\d.]+):\d{1,5}$/.exec(text);
  return parseAddress(withPort?.[1] ?? text);
}
