import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { Environment } from '../lib/config/read.ts';
import { setDirectRoute } from '../lib/http/own-server.ts';
import { proxyFor, readProxies } from '../lib/http/proxies.ts';

/**
 * Prepares this process for everything it sends: `fetch` follows the proxies of the environment, and connections trust
 * the authorities of NODE_EXTRA_CA_CERTS, also if that is set in `.env`. A file that cannot be read is reported on
 * stderr, as by Node.js: most commands do not need it.
 */
export async function prepareOutgoing(environment: Environment): Promise<void> {
  trustAuthorities(environment);
  await followProxies(environment);
}

function trustAuthorities({ NODE_EXTRA_CA_CERTS: file }: Environment): void {
  // Node.js itself has read the file that the process was started with.
  if (!file || file === process.env.NODE_EXTRA_CA_CERTS) return;
  try {
    setDefaultCACertificates([...getCACertificates('default'), ...readCertificates(file)]);
  } catch (error) {
    process.stderr.write(`NODE_EXTRA_CA_CERTS is not used: ${(error as Error).message}\n`);
  }
}

/** The certificates in a PEM file. Throws if it cannot be read, or has none. */
export function readCertificates(file: string): string[] {
  const pem = readFileSync(file, 'utf8');
  const certificates = pem.match(
    /-----BEGIN [^-]*CERTIFICATE-----[^-]*-----END [^-]*CERTIFICATE-----/g,
  );
  if (certificates === null) throw new Error('there is no PEM certificate in it');
  return certificates;
}

async function followProxies(environment: Environment): Promise<void> {
  const proxies = readProxies(environment);
  if (proxies.http === null && proxies.https === null) return;
  // Loaded only where there is a proxy. It has to be of the same major version as the one inside Node.js.
  const undici = await import('undici');
  const unproxied = new undici.Agent();
  const agents = new Map<string, Dispatcher>();
  const agentOf = (url: URL) => {
    // Without `proxyTunnel`, http goes to the proxy as a plain request, as with curl: many proxies refuse a tunnel to it.
    const agent =
      agents.get(url.href) ?? new undici.ProxyAgent({ uri: url.href, proxyTunnel: false });
    agents.set(url.href, agent);
    return agent;
  };
  class ByAddress extends undici.Dispatcher {
    override dispatch(
      options: Dispatcher.DispatchOptions,
      handler: Dispatcher.DispatchHandler,
    ): boolean {
      const proxy = proxyFor(proxies, new URL(`${options.origin}`));
      if (proxy === null) return unproxied.dispatch(options, handler);
      if ('url' in proxy) return agentOf(proxy.url).dispatch(options, explainRefusal(handler));
      handler.onError?.(new Error(proxy.fault));
      return true;
    }
  }
  setDirectRoute(unproxied as unknown as NonNullable<RequestInit['dispatcher']>);
  undici.setGlobalDispatcher(new ByAddress());
}

/** `fetch` calls a request that the proxy refused cancelled, and does not say why. */
function explainRefusal(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const onError = (error: Error) => {
    const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
    const reason = `the proxy answered ${status} to the request for a connection`;
    const refusal = Object.assign(new Error(reason), { code: 'ERR_PROXY_TUNNEL' });
    handler.onError?.(status === undefined ? error : refusal);
  };
  return Object.create(handler, { onError: { value: onError } }) as Dispatcher.DispatchHandler;
}
