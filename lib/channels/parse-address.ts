import { ChannelAddressError, splitAddress } from './address.ts';
import { secretsOf } from './channel-secrets.ts';
import { type ChannelAddress, channelKinds } from './kinds.ts';

// Addresses in the form of Apprise and shoutrrr, such as `slack://T…/B…/…`, or `KIND+` and the URL that a service
// shows. Anyone who has one can send messages, so error messages never repeat any part of it.

const MAX_LENGTH = 2_000;

/** Parses the address of one channel. Throws ChannelAddressError, which may name the kind but never the address. */
export function parseChannelAddress(text: string): ChannelAddress {
  if (text.length > MAX_LENGTH) throw new ChannelAddressError(null, 'is too long');
  if (/[\p{Cc}\s]/u.test(text)) throw new ChannelAddressError(null, 'contains a space');
  const known = channelKinds.find(({ recognizes }) => recognizes?.test(text));
  const written = splitAddress(known === undefined ? text : `${known.schemes[0]}+${text}`);
  const found = channelKinds.find(({ schemes }) => written && schemes.includes(written.scheme));
  if (written === null || found === undefined) {
    throw new ChannelAddressError(null, `is of an unknown kind; known kinds are ${listSchemes()}`);
  }
  try {
    return { ...found.parse(written), secrets: secretsOf(text) };
  } catch (error) {
    if (error instanceof ChannelAddressError) throw error.of(found.kind);
    throw error;
  }
}

function listSchemes(): string {
  const schemes = channelKinds.map(({ schemes: [first] }) => first);
  return new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(schemes);
}
