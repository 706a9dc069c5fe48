import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isInNetworks,
  isLinkLocal,
  isLoopback,
  isLoopbackHost,
  isPrivateHost,
  parseAddress,
  parseNetwork,
  parseNetworks,
} from '../../lib/text/network.ts';

const holds = (network: string, address: string) => isInNetworks(address, parseNetworks([network]));

describe('parseAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('normalizes %s to %s', (given, written) => {
    expect(parseAddress(given)).toBe(written);
  });

  it.each([
    '',
    '1',
    '127.1',
    '010.0.0.1',
    '0x7f.0.0.1',
    '256.1.1.1',
    '1.2.3.4 ',
    'localhost',
    ':::',
  ])('rejects %j', (given) => {
    expect(parseAddress(given)).toBeNull();
  });

  it('returns one form for each IPv6 address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const written = parseAddress(address);
        expect(written).not.toBeNull();
        expect(parseAddress(written ?? '')).toBe(written);
      }),
    );
  });
});

describe('parseNetwork', () => {
  it.each([
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10/8',
    '::/129',
    '10.0.0.0/0x8',
    '10.0.0.0/255.0.0.0',
  ])('rejects %j', (given) => {
    expect(parseNetwork(given)).toBeNull();
  });

  it('throws on a list with an entry that is not a network', () => {
    expect(() => parseNetworks(['10.0.0.1', 'proxy.example'])).toThrow(RangeError);
  });
});

describe('isInNetworks', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['10.0.0.0/8', '::ffff:10.1.1.1', true],
    ['::ffff:10.0.0.0/104', '10.1.1.1', true],
    ['::ffff:10.0.0.0/104', '11.1.1.1', false],
    ['::ffff:192.0.2.7', '192.0.2.7', true],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['::/0', '2001:db8::1', true],
    ['::/0', '203.0.113.9', false],
    ['10.0.0.0/8', 'not an address', false],
  ])('for %s and %s is %s', (network, address, expected) => {
    expect(holds(network, address)).toBe(expected);
  });

  it('is correct for every IPv4 prefix length', () => {
    const bits = (address: string) =>
      address.split('.').reduce((value, part) => value * 256 + Number(part), 0);
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (a, b, length) => {
        const block = (address: string) => Math.floor(bits(address) / 2 ** (32 - length));
        expect(holds(`${a}/${length}`, b)).toBe(block(a) === block(b));
      }),
    );
  });
});

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1'])(
    'is true for %s',
    (address) => expect(isLoopback(address)).toBe(true),
  );

  it.each(['128.0.0.1', '126.255.255.255', '10.0.0.1', '0.0.0.0', '::', '::2', 'localhost', ''])(
    'is false for %j',
    (address) => expect(isLoopback(address)).toBe(false),
  );
});

describe('isLoopbackHost', () => {
  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.255.254', '[::1]', '[::ffff:7f00:1]'])(
    'is true for %s',
    (hostname) => expect(isLoopbackHost(hostname)).toBe(true),
  );

  it.each(['', 'localhost.example', '127.0.0.1.example', '128.0.0.1', '[::2]', '0.0.0.0', 'lan'])(
    'is false for %j',
    (hostname) => expect(isLoopbackHost(hostname)).toBe(false),
  );
});

describe('the host of a URL', () => {
  const hostOf = (host: string) => new URL(`http://${host}/`).hostname;

  it.each(['169.254.169.254', '[fe80::1]', '[::ffff:a9fe:a9fe]', '2852039166', '0xa9.0xfe.1.1'])(
    '%s is recognized as link-local',
    (host) => {
      expect(isLinkLocal(hostOf(host))).toBe(true);
      expect(isPrivateHost(hostOf(host))).toBe(false);
    },
  );

  it.each([
    ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
    ...['[fd00:ec2::254]', '[fd00:ec2::23]', '[fd20:ce::254]', '[fd00:42::42]'],
    ...['[fd00:c1::a9fe:a9fe]', '[fd00:a9fe:a9fe::1]'],
  ])('%s is recognized as a cloud metadata address', (host) => {
    expect(isLinkLocal(hostOf(host))).toBe(true);
  });

  it.each(['metadata', 'metadata.google.internal', 'METADATA.google.internal.', 'metadata.goog'])(
    '%s is recognized as the name of a metadata service, which may resolve only at a proxy',
    (host) => {
      expect(isLinkLocal(host)).toBe(true);
    },
  );

  it.each([
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[::169.254.169.254]',
    '[64:ff9b::6464:64c8]',
    '[64:ff9b:1::a9fe:a9fe]',
    '[::ffff:0:a9fe:a9fe]',
  ])('%s is recognized as an embedded link-local or metadata address', (host) => {
    expect(isLinkLocal(hostOf(host))).toBe(true);
  });

  it.each(['[64:ff9b::808:808]', '[2002:808:808::1]', '[64:ff9c::a9fe:a9fe]'])(
    '%s is not recognized as link-local',
    (host) => {
      expect(isLinkLocal(hostOf(host))).toBe(false);
    },
  );

  it.each([
    ...['localhost', '127.0.0.1', '[::1]', '10.1.2.3', '172.16.0.1', '192.168.1.5', '100.64.0.1'],
    ...[
      '[fd12::5]',
      'nas',
      'nas.local',
      'ntfy.lan',
      'push.home',
      'x.internal',
      'x.home.arpa',
      'x.LAN.',
    ],
  ])('%s is recognized as private', (host) => {
    expect(isPrivateHost(hostOf(host))).toBe(true);
    expect(isLinkLocal(hostOf(host))).toBe(false);
  });

  it.each([
    'example.com',
    'local.example.com',
    '8.8.8.8',
    '172.32.0.1',
    '[2606:4700::1]',
    '0.0.0.0',
  ])('%s is neither private nor link-local', (host) => {
    expect([isPrivateHost(hostOf(host)), isLinkLocal(hostOf(host))]).toEqual([false, false]);
  });
});
