import { describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { configuredSecrets } from '../../lib/config/secrets.ts';
import { describeProxy, proxyFor, readProxies } from '../../lib/http/proxies.ts';

/** The proxy for an address, or `direct`. */
function routeOf(environment: Environment, address: string): string {
  const proxy = proxyFor(readProxies(environment), new URL(address));
  return proxy === null ? 'direct' : describeProxy(proxy);
}

describe('the proxy for an address', () => {
  it.each<[Environment, string, string]>([
    [{}, 'https://s3.example.com', 'direct'],
    [{ HTTPS_PROXY: 'http://proxy:3128' }, 'https://s3.example.com', 'http://proxy:3128'],
    [{ https_proxy: 'http://proxy:3128' }, 'https://s3.example.com', 'http://proxy:3128'],
    [{ https_proxy: 'http://low:1', HTTPS_PROXY: 'http://up:2' }, 'https://a.b', 'http://low:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://up:2' }, 'https://a.b', 'direct'],
    [{ HTTPS_PROXY: 'http://proxy:3128' }, 'http://127.0.0.1:9000', 'direct'],
    [{ HTTP_PROXY: 'http://proxy:3128' }, 'https://s3.example.com', 'direct'],
    [{ HTTP_PROXY: 'http://proxy:3128' }, 'http://127.0.0.1:9000', 'http://proxy:3128'],
    [{ http_proxy: 'http://proxy:3128' }, 'http://127.0.0.1:9000', 'http://proxy:3128'],
    [{ ALL_PROXY: 'http://proxy:3128' }, 'https://s3.example.com', 'http://proxy:3128'],
    [{ all_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:2' }, 'https://a.b', 'http://b:2'],
    // As with curl: no scheme means http, and no port 1080, or 443 of an https proxy.
    [{ HTTPS_PROXY: 'proxy:3128' }, 'https://a.b', 'http://proxy:3128'],
    [{ HTTPS_PROXY: 'user:secret@proxy:3128' }, 'https://a.b', 'http://proxy:3128'],
    [{ HTTPS_PROXY: 'http://proxy' }, 'https://a.b', 'http://proxy:1080'],
    [{ HTTPS_PROXY: 'http://proxy:80/' }, 'https://a.b', 'http://proxy'],
    [{ HTTPS_PROXY: 'https://proxy' }, 'https://a.b', 'https://proxy'],
    [{ HTTPS_PROXY: 'http://[::1]:3128' }, 'https://a.b', 'http://[::1]:3128'],
    [
      { HTTPS_PROXY: 'socks5://proxy:1080' },
      'https://a.b',
      'HTTPS_PROXY is a proxy other than http:// or https://, which only git can use',
    ],
    [{ ALL_PROXY: 'http://:secret@' }, 'https://a.b', 'ALL_PROXY is not the address of a proxy'],
  ])('with %j, %s is reached: %s', (environment, address, route) => {
    expect(routeOf(environment, address)).toBe(route);
  });
});

describe('NO_PROXY', () => {
  const isDirect = (NO_PROXY: string, address: string) =>
    routeOf({ HTTPS_PROXY: 'http://proxy:1', HTTP_PROXY: 'http://proxy:1', NO_PROXY }, address) ===
    'direct';

  it.each([
    ['*', 'https://s3.example.com'],
    ['example.com', 'https://example.com'],
    ['example.com', 'https://s3.example.com'],
    ['.example.com', 'https://s3.example.com'],
    ['.example.com', 'https://example.com'],
    ['*.example.com', 'https://s3.example.com'],
    ['EXAMPLE.com', 'https://s3.Example.COM'],
    ['example.com.', 'https://s3.example.com'],
    ['example.com', 'https://s3.example.com.'],
    ['localhost,other.org , example.com', 'https://example.com'],
    ['localhost other.org example.com', 'https://example.com'],
    ['example.com:8443', 'https://example.com:8443'],
    ['example.com:443', 'https://example.com'],
    ['example.com:80', 'http://example.com'],
    ['127.0.0.1', 'http://127.0.0.1:9000'],
    ['127.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['10.0.0.0/8', 'https://10.1.2.3'],
    ['::1', 'http://[::1]:9000'],
    ['[::1]', 'http://[::1]:9000'],
    ['[::1]:9000', 'http://[::1]:9000'],
    ['fd00::/8', 'https://[fd12::1]'],
  ])('%s exempts %s', (list, address) => {
    expect(isDirect(list, address)).toBe(true);
  });

  it.each([
    ['', 'https://example.com'],
    ['example.com', 'https://badexample.com'],
    ['.example.com', 'https://badexample.com'],
    ['s3.example.com', 'https://example.com'],
    ['example.com:8443', 'https://example.com'],
    ['localhost', 'http://127.0.0.1:9000'],
    ['127.0.0.1', 'https://1.127.0.0.1.example.com'],
    ['10.0.0.0/8', 'https://11.1.2.3'],
    ['10.0.0.0/8', 'https://10.example.com'],
    ['.', 'https://example.com'],
  ])('%s does not exempt %s', (list, address) => {
    expect(isDirect(list, address)).toBe(false);
  });

  it('in lower case wins over upper case', () => {
    const proxies = { HTTPS_PROXY: 'http://proxy:1', NO_PROXY: '*', no_proxy: 'other.org' };
    expect(routeOf(proxies, 'https://example.com')).toBe('http://proxy:1');
  });
});

it.each(['http://user:s3cret-of-a-proxy@proxy:1', 'user:s3cret-of-a-proxy@proxy:1'])(
  'the password in %s is a secret',
  (https_proxy) => {
    expect(configuredSecrets({ https_proxy })).toContain('s3cret-of-a-proxy');
  },
);
