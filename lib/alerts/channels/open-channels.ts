import { type AlertChannel, ChannelError } from '../../channels/channel.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import type { Database } from '../../database/database.ts';
import { createChannel } from './create-channel.ts';
import { guardFetch, type Resolve, resolveHost } from './guarded-fetch.ts';
import type { PostDeps } from './post.ts';
import { readStoredChannels, type StoredChannel } from './stored-channels.ts';

/** What is needed to open channels. */
export interface ChannelDeps extends PostDeps {
  /** Null for only the channels of ALERT_CHANNELS, for example while the database is unreachable. */
  db: Database | null;
  /** Default: the system's resolver. */
  resolve?: Resolve;
}

/**
 * Opens the channels of ALERT_CHANNELS, then those of the dashboard. A channel that cannot be used, for example without
 * the key that its address was sealed with, is included and reports that whenever something is sent through it.
 */
export async function openAlertChannels(
  config: AlertSendingConfig,
  deps: ChannelDeps,
): Promise<AlertChannel[]> {
  const { db } = deps;
  const own = config.ALERT_CHANNELS.map((it) => createChannel({ ...deps, config }, it.name, it));
  if (db === null) return own;
  const stored = await readStoredChannels({ db, config }, { renews: true });
  return [...own, ...stored.map((it) => openStored(config, deps, it))];
}

function openStored(
  config: AlertSendingConfig,
  { fetch, clock, resolve = resolveHost }: ChannelDeps,
  { name, kind, address, fault }: StoredChannel,
): AlertChannel {
  if (address === null) {
    // Another process may know the key, or this one after a restart, so the message must not be given up.
    const send = () => Promise.reject(new ChannelError(`${fault}`, { retryable: true }));
    return { name, kind, send };
  }
  return createChannel({ config, clock, fetch: guardFetch(fetch, resolve) }, name, address);
}
