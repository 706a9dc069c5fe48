import type { AlertChannel } from '../../channels/channel.ts';
import { findMailFault } from '../../channels/mail.ts';
import { parseChannelAddress } from '../../channels/parse-address.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import { createChannel } from './create-channel.ts';
import type { PostDeps } from './post.ts';

/**
 * The addresses in SMTP_TO as channels, for what is mailed to people and not to a channel that they have set up. Named
 * by their places in the list, because names are logged. None if this process cannot send mail.
 */
export function openMailboxes(config: AlertSendingConfig, deps: PostDeps): AlertChannel[] {
  if (findMailFault(config) !== null) return [];
  return config.SMTP_TO.map((address, index) =>
    createChannel(
      { ...deps, config },
      `SMTP_TO, address ${index + 1}`,
      parseChannelAddress(`mailto:${address}`),
    ),
  );
}
