import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

type ParsedAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses. One address is a block of its own. */
export interface Network {
  base: ParsedAddress;
  prefixLength: number;
}

/** Bits in front of the IPv4 part of an IPv4-mapped IPv6 address. */
const MAPPED_PREFIX = 96;

/**
 * Reads one IP address and returns its one written form: lower case, shortened, without a zone, and as
 * IPv4 when it is IPv4-mapped. Null for anything else; octal and short IPv4 forms are not addresses.
 */
export function parseAddress(text: string): string | null {
  return parse(text)?.toString() ?? null;
}

/**
 * Reads an address or CIDR. Bits behind the prefix are ignored, an IPv4-mapped block becomes the IPv4
 * block. Null when it is neither.
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

/** Reads a list of addresses and CIDRs. Throws a RangeError on one that is neither. */
export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new RangeError('not an IP address or CIDR');
    return network;
  });
}

/** Does one of the networks hold the address? False for a text that is no address. */
export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (networks.length === 0) return false;
  const parsed = parse(address);
  return networks.some(
    ({ base, prefixLength }) =>
      parsed !== null && parsed.kind() === base.kind() && parsed.match(base, prefixLength),
  );
}

/** Is it an address of this machine alone: 127.0.0.0/8 or ::1, also as IPv4-mapped? */
export function isLoopback(address: string): boolean {
  return parse(address)?.range() === 'loopback';
}

function parse(text: string): ParsedAddress | null {
  return isAddress(text) ? ipaddr.process(withoutZone(text)) : null;
}

/** The pattern of IPv6 is large: no cold start makes it for an address that holds no colon. */
function isAddress(text: string): boolean {
  return text.includes(':') ? isIPv6(text) : isIPv4(text);
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
