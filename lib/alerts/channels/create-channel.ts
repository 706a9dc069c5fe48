import { type AlertChannel, ChannelError } from '../../channels/channel.ts';
import { type ChannelAddress, requestFor } from '../../channels/kinds.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import { type PostDeps, post } from './post.ts';

/** What a channel needs to send. */
export type SendDeps = PostDeps & { config: AlertSendingConfig };

/** Creates a channel that sends to an address. */
export function createChannel(deps: SendDeps, name: string, address: ChannelAddress): AlertChannel {
  const { kind, url, isPublicService } = address;
  return {
    name,
    kind,
    async send(message, signal) {
      const request = await requestFor(address, message, deps);
      const { body, refusals, secrets = [] } = request;
      const response = await post(deps, {
        ...{ url, isPublicService, signal, ...request },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        secrets: [...address.secrets, ...secrets],
      });
      const refusal = refusals?.[response.status];
      if (refusal !== undefined) throw new ChannelError(refusal, { retryable: false });
    },
  };
}
