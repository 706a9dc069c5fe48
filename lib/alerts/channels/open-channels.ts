import type { AlertSendingConfig } from '../../config/channels/channels.ts';
import type { Database } from '../../database/database.ts';
import { type AlertChannel, type AlertMessage, ChannelError } from './channel.ts';
import { createChannel } from './create-channel.ts';
import { guardFetch, type Resolve, resolveHost } from './guarded-fetch.ts';
import type { PostDeps } from './post.ts';
import { readStoredChannels, type StoredChannel } from './stored-channels.ts';

/** What channels are opened with. */
export interface ChannelDeps extends PostDeps {
  /** Null for the channels of ALERT_CHANNELS alone, such as while the database is away. */
  db: Database | null;
  /** Default: the system's resolver. */
  resolve?: Resolve;
}

/**
 * The channels of ALERT_CHANNELS, then those of the dashboard. One that cannot be used, such as without the key that
 * its address was sealed with, is there too, and says so whenever something is sent through it.
 */
export async function openAlertChannels(
  config: AlertSendingConfig,
  deps: ChannelDeps,
): Promise<AlertChannel[]> {
  const { db } = deps;
  const own = config.ALERT_CHANNELS.map((it) => createChannel({ ...deps, config }, it.name, it));
  if (db === null) return own;
  const taken = new Set(own.map(({ name }) => name.toLowerCase()));
  const stored = (await readStoredChannels({ db, config }))
    // ALERT_CHANNELS got a channel of this name later.
    .map((it) => (taken.has(it.name.toLowerCase()) ? { ...it, name: `${it.name} (page)` } : it))
    .map((it) => openStored(config, deps, it));
  return [...own, ...stored];
}

function openStored(
  config: AlertSendingConfig,
  { fetch, clock, resolve = resolveHost }: ChannelDeps,
  { name, kind, address, fault }: StoredChannel,
): AlertChannel {
  if (address === null) {
    const send = () => Promise.reject(new ChannelError(`${fault}`, { retryable: false }));
    return { name, kind, send };
  }
  return createChannel({ config, clock, fetch: guardFetch(fetch, resolve) }, name, address);
}

/** A message that says that a channel works. */
export function makeTestMessage(id: string, { name }: { name: string }, at: Date): AlertMessage {
  return {
    id,
    kind: 'test',
    severity: 'info',
    title: 'Test of Backup Observatory',
    lines: [`Alerts reach you here, through the channel ${name}.`],
    at,
  };
}
