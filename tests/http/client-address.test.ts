import fc from 'fast-check';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import {
  readPlatformConnection,
  readSocketConnection,
  resolveClientAddress,
} from '../../lib/http/client-address.ts';
import type { HttpEnv } from '../../lib/http/env.ts';
import { isInNetworks, parseNetworks } from '../../lib/text/network.ts';

const trusted = parseNetworks(['10.0.0.0/8', '2001:db8:aaaa::/48']);
const resolve = (peer: string, forwarded?: string, bearsSecret = false) =>
  resolveClientAddress({ peer, forwarded }, trusted, bearsSecret);

describe('the client of a request', () => {
  it('is the peer, whatever the header, if the peer is not a trusted proxy', () => {
    expect(resolve('203.0.113.5', '198.51.100.1')).toEqual({
      client: '203.0.113.5',
      forwarded: null,
    });
  });

  it('is the first address from the right that is not a trusted proxy', () => {
    expect(resolve('10.0.0.1', '1.1.1.1, 198.51.100.1, 10.2.2.2').client).toBe('198.51.100.1');
  });

  it('is the peer when the header is absent', () => {
    expect(resolve('10.0.0.1')).toEqual({ client: '10.0.0.1', forwarded: null });
  });

  it('is the peer when the header contains only trusted proxies', () => {
    expect(resolve('10.0.0.1', '10.0.0.3, 10.0.0.2').client).toBe('10.0.0.1');
  });

  it('is found despite malformed entries', () => {
    const header = '198.51.100.1, unknown, 999.1.1.1, 010.1.1.1, ,;, 1.2.3.4:99999999, [1.2.3.4]';
    expect(resolve('10.0.0.1', header).client).toBe('198.51.100.1');
  });

  it('is the peer when every entry is malformed', () => {
    expect(resolve('10.0.0.1', 'unknown, _hidden,,').client).toBe('10.0.0.1');
  });

  it.each([
    ['198.51.100.1:4711', '198.51.100.1'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:DB8::7', '2001:db8::7'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['fe80::7%eth0', 'fe80::7'],
  ])('for the entry %s is %s', (entry, address) => {
    expect(resolve('10.0.0.1', entry).client).toBe(address);
  });

  it('is found behind IPv4-mapped and IPv6 proxies', () => {
    expect(resolve('::ffff:10.0.0.1', '198.51.100.1').client).toBe('198.51.100.1');
    expect(resolve('2001:db8:aaaa::1', '198.51.100.1').client).toBe('198.51.100.1');
  });

  it('is normalized', () => {
    expect(resolve('::ffff:203.0.113.5').client).toBe('203.0.113.5');
  });

  it('is the forwarded address when the peer has the internal secret', () => {
    expect(resolve('203.0.113.5', '1.1.1.1, 198.51.100.1, 10.2.2.2', true)).toEqual({
      client: '198.51.100.1',
      forwarded: '198.51.100.1',
    });
  });

  it('has no forwarded address when a caller with the secret sends none', () => {
    expect(resolve('203.0.113.5', 'unknown', true)).toEqual({
      client: '203.0.113.5',
      forwarded: null,
    });
  });

  it('never depends on entries to the left of the address found', () => {
    const entry = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string());
    fc.assert(
      fc.property(fc.ipV4(), fc.array(entry), (client, spoofed) => {
        fc.pre(!isInNetworks(client, trusted));
        const header = [...spoofed, client, '10.0.0.9'].join(',');
        expect(resolve('10.0.0.1', header).client).toBe(client);
      }),
    );
  });

  it('is an address from the header, or the peer', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const { client, forwarded } = resolve('10.0.0.1', header);
        expect(client).toBe(forwarded ?? '10.0.0.1');
      }),
    );
  });
});

describe('the connection of a request', () => {
  const app = new Hono<HttpEnv>()
    .get('/socket', (c) => c.json(readSocketConnection(c, 'X-Forwarded-For')))
    .get('/platform', (c) => c.json(readPlatformConnection(c, 'X-Forwarded-For')));
  const read = async (path: string, headers: [string, string][], env?: HttpEnv['Bindings']) => {
    const response = await app.request(path, { headers }, env);
    return response.json();
  };

  it('has the peer of its socket', async () => {
    const env = { incoming: { socket: { remoteAddress: '192.0.2.9' } } };
    expect(await read('/socket', [['X-Real-IP', '6.6.6.6']], env)).toEqual({ peer: '192.0.2.9' });
  });

  it('has the values of a repeated header in order', async () => {
    const headers: [string, string][] = [
      ['X-Forwarded-For', '1.1.1.1'],
      ['X-Forwarded-For', '2.2.2.2'],
    ];
    expect(await read('/socket', headers)).toMatchObject({ forwarded: '1.1.1.1, 2.2.2.2' });
  });

  it('has the peer that the platform reports', async () => {
    const headers: [string, string][] = [
      ['X-Real-IP', '192.0.2.9'],
      ['X-Forwarded-For', '1.1.1.1'],
    ];
    expect(await read('/platform', headers)).toEqual({ peer: '192.0.2.9', forwarded: '1.1.1.1' });
  });

  it("does not treat the platform's own entry as a forwarded address", async () => {
    const headers: [string, string][] = [
      ['X-Real-IP', '192.0.2.9'],
      ['X-Forwarded-For', '192.0.2.9'],
    ];
    expect(await read('/platform', headers)).toEqual({ peer: '192.0.2.9', forwarded: '' });
  });
});
