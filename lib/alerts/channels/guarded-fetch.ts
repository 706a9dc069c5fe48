import { isLinkLocal } from '../../http/network.ts';
import { ChannelError } from './channel.ts';

/** The addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * A `fetch` that does not go to link-local addresses, where the machines of clouds keep credentials, also under a name
 * that leads there. For addresses that came from a browser.
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

/** Asks the system's resolver; a name without an address has none. */
export const resolveHost: Resolve = async (hostname) => {
  const { lookup } = await import('node:dns/promises');
  try {
    const found = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'), { all: true });
    return found.map(({ address }) => address);
  } catch {
    // Then `fetch` says why, or resolves it in its own way.
    return [];
  }
};
