import * as z from 'zod';
import { secretsOf } from './channel-secrets.ts';
import { parseDiscord, parseSlack, parseTelegram } from './chat-services.ts';
import { parseApprise, parseGotify, parseNtfy, parseWebhook } from './own-servers.ts';
import {
  type ChannelAddress,
  ChannelAddressError,
  type ChannelKind,
  splitAddress,
  type Target,
  type WrittenAddress,
} from './target.ts';

// Addresses in the form of Apprise and shoutrrr, such as `slack://T…/B…/…`, or `KIND+` and the URL that a service
// shows. Anyone who has one can send messages, so error messages never repeat any part of it.

/** Address schemes, each with its kind and parser. */
const schemes = new Map<string, [ChannelKind, (written: WrittenAddress) => Target]>([
  ['mailto', ['mail', parseMail]],
  ['slack', ['slack', parseSlack]],
  ['discord', ['discord', parseDiscord]],
  ['tgram', ['telegram', parseTelegram]],
  ['telegram', ['telegram', parseTelegram]],
  ['ntfy', ['ntfy', parseNtfy]],
  ['ntfys', ['ntfy', parseNtfy]],
  ['gotify', ['gotify', parseGotify]],
  ['gotifys', ['gotify', parseGotify]],
  ['apprise', ['apprise', parseApprise]],
  ['apprises', ['apprise', parseApprise]],
  ['webhook', ['webhook', parseWebhook]],
]);

const MAX_LENGTH = 2_000;
const KNOWN = 'mailto, slack, discord, tgram, ntfy, gotify, apprise and webhook';

/** URLs of well-known services, which need no `KIND+` prefix. */
const recognized: readonly [RegExp, string][] = [
  [/^https:\/\/hooks\.slack\.com\/services\//i, 'slack'],
  [/^https:\/\/(?:(?:canary|ptb)\.)?discord(?:app)?\.com\/api\/webhooks\//i, 'discord'],
];

/** Parses the address of one channel. Throws ChannelAddressError, which may name the kind but never the address. */
export function parseChannelAddress(text: string): ChannelAddress {
  if (text.length > MAX_LENGTH) throw new ChannelAddressError(null, 'is too long');
  if (/[\p{Cc}\s]/u.test(text)) throw new ChannelAddressError(null, 'contains a space');
  const [, known] = recognized.find(([pattern]) => pattern.test(text)) ?? [];
  const written = splitAddress(known === undefined ? text : `${known}+${text}`);
  const found = written === null ? undefined : schemes.get(written.scheme);
  if (written === null || found === undefined) {
    throw new ChannelAddressError(null, `is of an unknown kind; known kinds are ${KNOWN}`);
  }
  const [kind, parse] = found;
  try {
    return { ...parse(written), secrets: secretsOf(text) };
  } catch (error) {
    if (error instanceof ChannelAddressError) throw error.of(kind);
    throw error;
  }
}

function parseMail({ rest, transport }: WrittenAddress): Target {
  if (transport !== null)
    throw new ChannelAddressError(null, 'must be mailto:somebody@example.com');
  if (!z.email().max(254).safeParse(rest).success) {
    throw new ChannelAddressError(null, 'needs a mail address, as in mailto:somebody@example.com');
  }
  const place = rest.replace(/^(.).*(?=@)/, '$1…');
  return { kind: 'mail', to: rest, place };
}
