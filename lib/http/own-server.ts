import { isLoopbackHost } from '../text/network.ts';

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** How hosts are reached without a proxy; null while no proxy is set. */
let direct: Dispatcher | null = null;

/** Called once, by a command that sends all requests of its process through a proxy. */
export function setDirectRoute(dispatcher: Dispatcher): void {
  direct = dispatcher;
}

/**
 * Options of a request to another server of this product. One on this machine is reached directly: a proxy is for what
 * leaves it.
 */
export function toOwnServer(url: string): RequestInit {
  const { hostname } = new URL(url);
  return direct === null || !isLoopbackHost(hostname) ? {} : { dispatcher: direct };
}
