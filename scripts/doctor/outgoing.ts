import { once } from 'node:events';
import { connect } from 'node:net';
import { describeProxy, type HttpProxy, readProxies } from '../../lib/http/proxies.ts';
import { readCertificates } from '../outgoing.ts';
import { withinLimit } from './measuring.ts';
import { type Check, failed, off, ok, toCheck } from './report.ts';
import type { Subject } from './subject.ts';

const WITHIN_MS = 3_000;

/** Checks which proxies requests go through, and whether they accept connections. Shows no credentials. */
export async function checkProxy({ environment, clock }: Subject): Promise<Check> {
  const { http, https, exceptions } = readProxies(environment);
  const used: [string, HttpProxy | null][] = [
    ['https', https],
    ['http', http],
  ];
  const routes = used.map(
    ([scheme, proxy]) =>
      `${scheme} ${proxy === null ? 'directly' : `through ${describeProxy(proxy)}`}`,
  );
  const proxies = [https, http].filter((proxy) => proxy !== null);
  if (proxies.length === 0) return toCheck('proxy', off('none: everything is reached directly'));
  const except = exceptions.length === 0 ? '' : `; directly: ${exceptions.join(', ')}`;
  const detail = `${routes.join(', ')}${except}`;
  const next = 'correct HTTPS_PROXY and HTTP_PROXY, or start the proxy';
  const found = await withinLimit(
    WITHIN_MS,
    clock,
    async () => {
      if (proxies.some((proxy) => 'fault' in proxy)) return failed(detail, next);
      await Promise.all(proxies.map(reach));
      return ok(detail);
    },
    (reason) => failed(`${detail}: ${reason}`, next),
  );
  return toCheck('proxy', found);
}

async function reach(proxy: HttpProxy): Promise<void> {
  if ('fault' in proxy) return;
  const { hostname, port, protocol } = proxy.url;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    ...{ host, port: Number(port || (protocol === 'https:' ? 443 : 80)) },
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  await once(socket, 'connect');
  socket.destroy();
}

/** Checks the file of authorities that connections trust besides the usual ones. */
export async function checkAuthorities({ environment }: Subject): Promise<Check> {
  const { NODE_EXTRA_CA_CERTS: file } = environment;
  if (!file) return toCheck('authorities', off('no private ones: NODE_EXTRA_CA_CERTS is not set'));
  try {
    const count = readCertificates(file).length;
    return toCheck('authorities', ok(`${count} from ${file}, for git too`));
  } catch (error) {
    const reason = (error as Error).message;
    const next = 'name a PEM file that this user can read, or unset NODE_EXTRA_CA_CERTS';
    return toCheck('authorities', failed(`${file}: ${reason}`, next));
  }
}
