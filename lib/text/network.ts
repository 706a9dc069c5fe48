import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type ParsedAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** A CIDR block. A single address is a block of one. */
export interface Network {
  base: ParsedAddress;
  prefixLength: number;
}

/** Bits before the IPv4 part of an IPv4-mapped IPv6 address. */
const MAPPED_PREFIX = 96;

/**
 * Parses an IP address and returns its canonical form: lower case, compressed, without a zone, and as IPv4 if
 * it is IPv4-mapped. Returns null for anything else, including octal and short IPv4 forms.
 */
export function parseAddress(text: string): string | null {
  return parse(text)?.toString() ?? null;
}

/**
 * Parses an address or CIDR; null if it is neither. Host bits are ignored, and an IPv4-mapped block becomes
 * the IPv4 block.
 */
export function parseNetwork(text: string): Network | null {
  const [address = '', prefix, ...rest] = text.split('/');
  if (rest.length > 0 || !isAddress(address)) return null;
  const written = ipaddr.parse(withoutZone(address));
  const bits = written.kind() === 'ipv4' ? 32 : 128;
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return null;
  const length = prefix === undefined ? bits : Number(prefix);
  if (length > bits) return null;
  if (written instanceof ipaddr.IPv6 && written.isIPv4MappedAddress() && length >= MAPPED_PREFIX) {
    return { base: written.toIPv4Address(), prefixLength: length - MAPPED_PREFIX };
  }
  return { base: written, prefixLength: length };
}

/** Parses a list of addresses and CIDRs. Throws a RangeError for an invalid entry. */
export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new RangeError('not an IP address or CIDR');
    return network;
  });
}

/** Parses networks on the first call. */
function parseOnce(texts: readonly string[]): () => readonly Network[] {
  let networks: readonly Network[] | null = null;
  return () => {
    networks ??= parseNetworks(texts);
    return networks;
  };
}

/** Whether one of the networks contains the address. False if it is not an address. */
export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (networks.length === 0) return false;
  const parsed = parse(address);
  return networks.some(
    ({ base, prefixLength }) =>
      parsed !== null && parsed.kind() === base.kind() && parsed.match(base, prefixLength),
  );
}

/** Whether the address is in 127.0.0.0/8 or ::1, including IPv4-mapped forms. */
export function isLoopback(address: string): boolean {
  return parse(address)?.range() === 'loopback';
}

/** Whether the host of a URL, without its port, is this machine: `localhost` or a loopback address. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname.toLowerCase() === 'localhost' || isLoopback(withoutBrackets(hostname));
}

/**
 * Cloud metadata addresses, which give a machine its secrets, that are not link-local. They are parsed when first
 * needed, like `embeddings`: parsing the first IPv6 address takes 8 ms of a cold start.
 */
const parseMetadata = parseOnce([
  // Alibaba, Oracle, Azure.
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:c1::a9fe:a9fe'],
  // All local services of AWS, such as the agent that gives a pod its credentials.
  'fd00:ec2::/32',
  // Google, Scaleway, Linode.
  ...['fd20:ce::254', 'fd00:42::42', 'fd00:a9fe:a9fe::1'],
]);

/** Names of metadata services, which only a machine of that cloud, or a proxy there, can resolve. */
const metadataName =
  /^(?:metadata|metadata\.google\.internal|metadata\.goog|instance-data(?:\.ec2\.internal)?)\.?$/i;

/**
 * Whether the host is a link-local address or another cloud metadata address. Also recognizes addresses in brackets,
 * and IPv6 addresses that embed such an IPv4 address.
 */
export function isLinkLocal(hostname: string): boolean {
  if (metadataName.test(hostname)) return true;
  const address = withoutBrackets(hostname);
  const forms = [address, embeddedAddress(address)].filter((form) => form !== null);
  return forms.some(
    (form) => parse(form)?.range() === 'linkLocal' || isInNetworks(form, parseMetadata()),
  );
}

/** IPv6 networks that gateways translate to IPv4, with the index of the first 16-bit part of the IPv4 address. */
const embeddings = [
  {
    parse: parseOnce(['64:ff9b::/96', '64:ff9b:1::/48', '::ffff:0:0:0/96', '::/96']),
    part: 6,
  },
  { parse: parseOnce(['2002::/16']), part: 1 },
];

function embeddedAddress(address: string): string | null {
  const parsed = parse(address);
  if (!(parsed instanceof ipaddr.IPv6)) return null;
  const found = embeddings.find((embedding) => isInNetworks(address, embedding.parse()));
  if (found === undefined) return null;
  const [high = 0, low = 0] = parsed.parts.slice(found.part);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const privateRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);
const privateName =
  /^(?:localhost|[^.]+|.+\.(?:local|localdomain|lan|home|internal|home\.arpa))\.?$/i;

/** Whether the host of a URL is this machine or in a private network, judging by its address or name. */
export function isPrivateHost(hostname: string): boolean {
  const parsed = parse(withoutBrackets(hostname));
  return parsed === null ? privateName.test(hostname) : privateRanges.has(parsed.range());
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function parse(text: string): ParsedAddress | null {
  return isAddress(text) ? ipaddr.process(withoutZone(text)) : null;
}

/** The regular expression for IPv6 is slow to compile: avoid it for addresses without a colon. */
function isAddress(text: string): boolean {
  return text.includes(':') ? isIPv6(text) : isIPv4(text);
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
