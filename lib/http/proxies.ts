import type { Environment } from '../config/read.ts';
import { isInNetworks, parseNetwork } from '../text/network.ts';

/** Where requests go instead of straight to their host: a proxy, or why its address cannot be used. */
export type HttpProxy = { url: URL } | { fault: string };

/** The proxies of an environment. */
export interface Proxies {
  /** For http addresses; null for none. */
  http: HttpProxy | null;
  /** For https addresses; null for none. */
  https: HttpProxy | null;
  /** Hosts that are reached without a proxy, as written. */
  exceptions: readonly string[];
}

/** What curl assumes for an address without a port. */
const DEFAULT_PORTS: Record<string, string> = { 'http:': '1080', 'https:': '443' };

/**
 * Reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. As with curl, the name in lower case wins, an empty value
 * means none, and an address needs no scheme.
 */
export function readProxies(environment: Environment): Proxies {
  const read = (name: string) => environment[name.toLowerCase()] ?? environment[name];
  const parse = (name: string) => {
    const used = read(name) === undefined ? 'ALL_PROXY' : name;
    const value = read(used)?.trim() ?? '';
    return value === '' ? null : parseProxy(used, value);
  };
  const exceptions = (read('NO_PROXY') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return { http: parse('HTTP_PROXY'), https: parse('HTTPS_PROXY'), exceptions };
}

/** Never repeats the address, which may contain a password. */
function parseProxy(name: string, value: string): HttpProxy {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (!URL.canParse(text)) return { fault: `${name} is not the address of a proxy` };
  const url = new URL(text);
  const port = DEFAULT_PORTS[url.protocol];
  if (port === undefined) {
    return { fault: `${name} is a proxy other than http:// or https://, which only git can use` };
  }
  // An URL drops the default port of its scheme, which is not that of curl.
  if (!/^[^/]*:\/\/[^/?#]*:\d+(?:[/?#]|$)/.test(text)) url.port = port;
  return { url };
}

/** The proxy for an address; null if it is reached directly. */
export function proxyFor({ http, https, exceptions }: Proxies, address: URL): HttpProxy | null {
  const proxy = address.protocol === 'https:' ? https : http;
  if (proxy === null || exceptions.some((entry) => isException(entry, address))) return null;
  return proxy;
}

/**
 * Whether an entry of NO_PROXY means an address: `*` any, a name also the names below it (with or without a leading
 * dot), an IP address or a CIDR only addresses. Unlike curl, `*.` before a name and a port after it work too.
 */
function isException(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === '*') return true;
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const bare = entry.replace(/^\[([^\]]*)\]$/, '$1');
  const network = parseNetwork(bare);
  if (network !== null) return isInNetworks(host, [network]);
  const [, name = '', wanted] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (wanted !== undefined && wanted !== (port || (protocol === 'https:' ? '443' : '80'))) {
    return false;
  }
  const alone = parseNetwork(name.replace(/^\[([^\]]*)\]$/, '$1'));
  if (alone !== null) return isInNetworks(host, [alone]);
  const suffix = name
    .toLowerCase()
    .replace(/^\*?\.+/, '')
    .replace(/\.$/, '');
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

/** The address of a proxy without its credentials, or what is wrong with it. */
export function describeProxy(proxy: HttpProxy): string {
  if ('fault' in proxy) return proxy.fault;
  return `${proxy.url.protocol}//${proxy.url.host}`;
}
