import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import type { ChannelAddress } from '../../config/alerts/target.ts';
import { type AlertChannel, type AlertMessage, ChannelError } from './channel.ts';
import { composeDiscord } from './discord.ts';
import { sendMail } from './mail.ts';
import { type PostDeps, post } from './post.ts';
import { composeApprise, composeGotify, composeNtfy } from './push.ts';
import { composeSlack } from './slack.ts';
import { composeTelegram } from './telegram.ts';
import { composeWebhook } from './webhook.ts';

/** What a channel needs to send. */
export type SendDeps = PostDeps & { config: AlertSendingConfig };

type Target<Kind extends ChannelAddress['kind']> = Extract<ChannelAddress, { kind: Kind }>;

/** A request to a service. */
interface Posted {
  service: string;
  url?: string;
  headers?: Record<string, string>;
  body: string;
}

/** Creates a channel that sends to an address. */
export function createChannel(deps: SendDeps, name: string, address: ChannelAddress): AlertChannel {
  const { kind } = address;
  if (address.kind === 'mail') {
    return { name, kind, send: (message, signal) => sendMail(deps, address, message, signal) };
  }
  return {
    name,
    kind,
    async send(message, signal) {
      const posted = await compose(deps, address, message);
      const { url, isPublicService, secrets } = address;
      const response = await post(deps, { url, isPublicService, secrets, signal, ...posted });
      // This is how an Apprise API answers for a key under which nothing is stored.
      if (kind === 'apprise' && response.status === 204)
        throw new ChannelError('the Apprise API has nothing under this key', { retryable: false });
    },
  };
}

async function compose(
  { clock }: SendDeps,
  address: Exclude<ChannelAddress, Target<'mail'>>,
  message: AlertMessage,
): Promise<Posted> {
  const json = (service: string, body: object, headers: Record<string, string> = {}): Posted => ({
    service,
    headers,
    body: JSON.stringify(body),
  });
  switch (address.kind) {
    case 'slack':
      return json('Slack', composeSlack(address, message));
    case 'discord':
      // Makes the answer say whether the message was accepted.
      return { ...json('Discord', composeDiscord(message)), url: `${address.url}?wait=true` };
    case 'telegram':
      return json('Telegram', composeTelegram(address, message));
    case 'ntfy':
      return json('ntfy', composeNtfy(address, message), authorize(address));
    case 'gotify':
      return json('Gotify', composeGotify(message), { 'X-Gotify-Key': address.token });
    case 'apprise':
      return json('the Apprise API', composeApprise(address, message), authorize(address));
    case 'webhook':
      return { service: 'the webhook', ...(await composeWebhook(address, message, clock)) };
  }
}

function authorize({ authorization }: { authorization: string | null }): Record<string, string> {
  return authorization === null ? {} : { Authorization: authorization };
}
