import { isLinkLocal, isPrivateHost } from '../text/network.ts';

/** An invalid address. The message starts with a verb and never repeats the address. */
export class ChannelAddressError extends Error {
  override readonly name = 'ChannelAddressError';
  readonly kind: string | null;

  constructor(kind: string | null, fault: string) {
    super(fault);
    this.kind = kind;
  }

  /** The same error with a kind. */
  of(kind: string): ChannelAddressError {
    return new ChannelAddressError(kind, this.message);
  }
}

/** `scheme[+https]:rest`. */
export interface WrittenAddress {
  scheme: string;
  /** From `+https` or `+http`; null without either. */
  transport: 'https' | 'http' | null;
  /** The part after the colon and slashes. */
  rest: string;
}

/** Splits an address at its scheme; null if it has none. */
export function splitAddress(text: string): WrittenAddress | null {
  const [, scheme = '', transport, slashes, rest = ''] =
    /^([a-z]{1,20})(?:\+(https?))?:(\/\/)?(.*)$/is.exec(text) ?? [];
  if (scheme === '' || (slashes === undefined) === (scheme.toLowerCase() !== 'mailto')) return null;
  const lower = transport?.toLowerCase();
  return {
    scheme: scheme.toLowerCase(),
    transport: lower === 'https' || lower === 'http' ? lower : null,
    rest,
  };
}

/** A server address in parts. */
interface ServerAddress {
  url: URL;
  /** The Authorization header, from `user:password@` or `token@`; null without either. */
  authorization: string | null;
  /** Parts of the path. */
  path: string[];
}

/**
 * Parses a server address: https, or http to a private host. Throws ChannelAddressError for link-local hosts, such as
 * the metadata service of a cloud machine.
 */
export function parseServer({ transport, rest }: WrittenAddress): ServerAddress {
  const text = `${transport ?? 'https'}://${rest}`;
  if (!URL.canParse(text)) throw fault('is not a valid address');
  const url = new URL(text);
  if (isLinkLocal(url.hostname)) throw fault('leads to a link-local address');
  if (url.protocol === 'http:' && !isPrivateHost(url.hostname)) {
    throw fault('uses http, which is only allowed to a host of your own network: use https');
  }
  const authorization = readAuthorization(url);
  url.username = '';
  url.password = '';
  return { url, authorization, path: url.pathname.split('/').filter((part) => part !== '') };
}

function readAuthorization({ username, password }: URL): string | null {
  if (username === '') return null;
  const [name, secret] = [decode(username), decode(password)];
  // Headers allow only these characters.
  if (!/^[\x21-\x7e]+$/.test(name) || !/^[\x20-\x7e]*$/.test(secret)) {
    throw fault('has credentials with characters other than ASCII');
  }
  return secret === '' ? `Bearer ${name}` : `Basic ${btoa(`${name}:${secret}`)}`;
}

/** Percent-decodes a part of an address. Throws ChannelAddressError. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fault('has a % that is not followed by two digits');
  }
}

/** Reads the parameters of an address. Throws ChannelAddressError for unknown or repeated ones. */
export function readParameters(
  { searchParams, hash }: URL,
  names: readonly string[],
): Partial<Record<string, string>> {
  if (hash !== '') throw fault('has a misplaced #');
  const given: Partial<Record<string, string>> = {};
  for (const [name, value] of searchParams) {
    if (!names.includes(name) || given[name] !== undefined) {
      const known = names.length === 0 ? 'none' : names.join(', ');
      throw fault(`has unknown or repeated parameters; known: ${known}`);
    }
    given[name] = value;
  }
  return given;
}

/** Creates an error about the address being parsed. */
export function fault(text: string): ChannelAddressError {
  return new ChannelAddressError(null, text);
}

/** The header for the credentials of an address. */
export function authorize({ authorization }: { authorization: string | null }) {
  const headers: Record<string, string> = {};
  if (authorization !== null) headers.Authorization = authorization;
  return headers;
}
