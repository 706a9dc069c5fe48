import { hostname, networkInterfaces } from 'node:os';
import { CODE_MINUTES } from '../../lib/users/login-codes.ts';
import type { LocalServer } from '../local-server.ts';

/**
 * The login link to print, also as other machines can open it. Without AUTH_USERNAME there is none, and users log in with
 * their passwords.
 */
export function describeLoginLink(server: LocalServer): string {
  const link = server.issueLoginLink();
  const page = link ?? `${server.url}/app/`;
  const links = addressesOf(server.host).map((address) => at(page, address));
  const elsewhere = links.length === 0 ? '' : describeNetwork(links, new URL(server.url).port);
  if (link === null) return elsewhere;
  return `\nOpen this link in a browser. It logs you in, once and within ${CODE_MINUTES} minutes:\n\n  ${link}\n${elsewhere}`;
}

function describeNetwork(links: readonly string[], port: string): string {
  return `
From another machine of the network:

${links.map((link) => `  ${link}`).join('\n')}

Plain http can be read by others in the network. Instead, you can leave HOST unset, run this on the other machine, and
open the link with 127.0.0.1 there:

  ssh -N -L ${port}:127.0.0.1:${port} ${hostname()}
`;
}

/** The addresses at which other machines reach a server that listens on `host`, as they are written in a URL. */
function addressesOf(host: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  const reachable = outer.filter(({ address, family }) => {
    if (host === '0.0.0.0') return family === 'IPv4';
    return host === '::' || address === host;
  });
  return reachable.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
}

function at(link: string, host: string): string {
  const url = new URL(link);
  url.hostname = host;
  return url.href;
}
