import { apprise } from './apprise.ts';
import type { AlertMessage, ChannelRequest, RequestDeps } from './channel.ts';
import { discord } from './discord.ts';
import { gotify } from './gotify.ts';
import { mail } from './mail.ts';
import { matrix } from './matrix.ts';
import { ntfy } from './ntfy.ts';
import { slack } from './slack.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';

/** Every kind of channel, in the order in which the page and the documents list them. */
export const channelKinds = [
  mail,
  slack,
  discord,
  telegram,
  matrix,
  ntfy,
  gotify,
  apprise,
  webhook,
] as const;

/** The parsed content of an address. */
export type Target = ReturnType<(typeof channelKinds)[number]['parse']>;

/** A parsed address with its secrets. */
export type ChannelAddress = Target & {
  /** Texts that must never be written anywhere. */
  secrets: readonly string[];
};

/** The request that sends a message to an address. Throws ChannelError. */
export async function requestFor(
  address: ChannelAddress,
  message: AlertMessage,
  deps: RequestDeps,
): Promise<ChannelRequest> {
  const definition = channelKinds.find(({ kind }) => kind === address.kind);
  if (definition === undefined) throw new Error(`no channel is of the kind ${address.kind}`);
  // TypeScript does not see that the address is one that this definition parsed.
  return definition.request(address as never, message, deps);
}
