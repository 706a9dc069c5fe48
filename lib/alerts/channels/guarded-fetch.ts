import { ChannelError } from '../../channels/channel.ts';
import { isLinkLocal } from '../../text/network.ts';

/** Finds the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * A `fetch` that refuses link-local addresses, where cloud machines keep credentials, and names that resolve to one.
 * For addresses that came from a browser.
 */
export function guardFetch(fetch: typeof globalThis.fetch, resolve: Resolve): typeof fetch {
  return async (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : input);
    const addresses = [hostname, ...(await resolve(hostname))];
    if (addresses.some(isLinkLocal)) {
      throw new ChannelError('the address leads to a link-local address', { retryable: false });
    }
    return fetch(input, init);
  };
}

/** Asks the system's resolver. A name that cannot be resolved has no addresses. */
export const resolveHost: Resolve = async (hostname) => {
  try {
    const { lookup } = await import('node:dns/promises');
    const found = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'), { all: true });
    return found.map(({ address }) => address);
  } catch {
    // `fetch` then says why, or resolves the name in its own way where there is no resolver.
    return [];
  }
};
