import { isLinkLocal, isPrivateHost } from '../../http/network.ts';

/** A mail address. */
interface MailTarget {
  kind: 'mail';
  to: string;
}

/** Where messages are posted. */
type HttpTarget = {
  url: string;
  /** Whether it is the service's own server, whose answers may be shown. */
  isPublicService: boolean;
} & (
  | { kind: 'slack' | 'discord' }
  | { kind: 'telegram'; chat: string; topic: number | null }
  | { kind: 'ntfy'; topic: string; authorization: string | null }
  | { kind: 'gotify'; token: string }
  | { kind: 'apprise'; tags: string | null; authorization: string | null }
  | { kind: 'webhook'; secret: string }
);

/** What an address says. */
export type Target = (MailTarget | HttpTarget) & {
  /** What is shown of it: the host, or a shortened mail address. */
  place: string;
};

/** Where a channel leads. */
export type ChannelAddress = Target & {
  /** What must not be written anywhere. */
  secrets: readonly string[];
};

export type ChannelKind = ChannelAddress['kind'];

/** What is wrong with an address, starting with a verb. Never repeats the address. */
export class ChannelAddressError extends Error {
  override readonly name = 'ChannelAddressError';
  readonly kind: string | null;

  constructor(kind: string | null, fault: string) {
    super(fault);
    this.kind = kind;
  }

  /** The same, of a kind. */
  of(kind: string): ChannelAddressError {
    return new ChannelAddressError(kind, this.message);
  }
}

/** `scheme[+https]:rest`. */
export interface WrittenAddress {
  scheme: string;
  /** What `+https` or `+http` says; null without. */
  transport: 'https' | 'http' | null;
  /** After the colon and the slashes. */
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

/** The parts of the address of a server. */
interface ServerAddress {
  url: URL;
  /** From `user:password@`, or a token alone before the `@`; null without. */
  authorization: string | null;
  /** Parts of the path. */
  path: string[];
}

/**
 * Parses the address of a server: https, or http to a host that is no public one. Throws ChannelAddressError for one
 * of a cloud machine's own metadata.
 */
export function parseServer({ transport, rest }: WrittenAddress): ServerAddress {
  const text = `${transport ?? 'https'}://${rest}`;
  if (!URL.canParse(text)) throw fault('is no valid address');
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
  // A header cannot hold others.
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

/** Throws ChannelAddressError for parameters that the kind does not have, or twice. */
export function readParameters(
  { searchParams, hash }: URL,
  names: readonly string[],
): Partial<Record<string, string>> {
  if (hash !== '') throw fault('has a # at a place where none belongs');
  const given: Partial<Record<string, string>> = {};
  for (const [name, value] of searchParams) {
    if (!names.includes(name) || given[name] !== undefined) {
      const known = names.length === 0 ? 'there are none' : `known is ${names.join(', ')}`;
      throw fault(`has unknown or repeated parameters; ${known}`);
    }
    given[name] = value;
  }
  return given;
}

/** An error about the address that is being parsed. */
export function fault(text: string): ChannelAddressError {
  return new ChannelAddressError(null, text);
}
