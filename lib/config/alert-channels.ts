import * as z from 'zod';
import { ChannelAddressError } from '../channels/address.ts';
import { CHANNEL_NAME, splitChannels } from '../channels/channel-secrets.ts';
import { type ChannelAddress, channelKinds } from '../channels/kinds.ts';
import { parseChannelAddress } from '../channels/parse-address.ts';
import { gatewayVariables } from './gateway.ts';
import { listenVariables } from './listen.ts';
import { mailVariables } from './mail.ts';

const MAX_CHANNELS = 20;

/** A channel of ALERT_CHANNELS. */
export type NamedChannel = ChannelAddress & { name: string };

/** Where alerts are sent, and the public address that they link to. */
export const channelVariables = z.object({
  ALERT_CHANNELS: z
    .string()
    .transform((text, context) => {
      try {
        return readChannels(text);
      } catch (error) {
        if (!(error instanceof ChannelAddressError)) throw error;
        context.addIssue(`must be a list of channels, but ${error.message}`);
        return z.NEVER;
      }
    })
    .prefault('')
    .describe(
      `where alerts are sent, separated by spaces or commas: ${listForms()}, each optionally as \`NAME=ADDRESS\`; see docs/alert-channels.md`,
    ),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL like https://backups.example.com' })
    .optional()
    .describe(
      'where people open this server, such as `https://backups.example.com`: alerts link to its page',
    ),
});

/** All variables needed to send alerts. */
export const alertSendingVariables = z.object({
  ...channelVariables.shape,
  RESEND_API_KEY: mailVariables.shape.RESEND_API_KEY,
  RESEND_BASE_URL: mailVariables.shape.RESEND_BASE_URL,
  SMTP_FROM: mailVariables.shape.SMTP_FROM,
  SMTP_TO: mailVariables.shape.SMTP_TO,
  BASE_PATH: listenVariables.shape.BASE_PATH,
  CREDENTIALS_ENCRYPTION_KEY: gatewayVariables.shape.CREDENTIALS_ENCRYPTION_KEY,
});

export type AlertSendingConfig = z.output<typeof alertSendingVariables>;

function listForms(): string {
  return channelKinds
    .map(({ kind, schemes: [scheme] }) => `\`${scheme}:${kind === 'mail' ? '' : '//'}…\``)
    .join(', ');
}

/** Throws ChannelAddressError with the number of the invalid entry. */
function readChannels(text: string): NamedChannel[] {
  const entries = splitChannels(text);
  if (entries.length > MAX_CHANNELS) {
    throw new ChannelAddressError(null, `has more than ${MAX_CHANNELS} entries`);
  }
  const channels: NamedChannel[] = [];
  const counts = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const given = CHANNEL_NAME.exec(entry)?.[1];
    const address = readEntry(entry.replace(CHANNEL_NAME, ''), index + 1);
    const { kind } = address;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const name = given ?? `${kind}-${count}`;
    const duplicate = (what: string) =>
      new ChannelAddressError(kind, `entry ${index + 1} (${kind}) ${what}`);
    for (const other of channels) {
      if (other.name.toLowerCase() === name.toLowerCase())
        throw duplicate('has the same name as another');
      if (isSamePlace(other, address)) throw duplicate('leads to the same place as another');
    }
    channels.push({ ...address, name });
  }
  return channels;
}

function readEntry(text: string, position: number): ChannelAddress {
  try {
    return parseChannelAddress(text);
  } catch (error) {
    if (!(error instanceof ChannelAddressError)) throw error;
    const kind = error.kind === null ? '' : ` (${error.kind})`;
    throw new ChannelAddressError(error.kind, `entry ${position}${kind} ${error.message}`);
  }
}

function isSamePlace({ name: _, ...one }: NamedChannel, other: ChannelAddress): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
