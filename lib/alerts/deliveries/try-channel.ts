import { randomUUID } from 'node:crypto';
import type { AlertChannel } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import { sendOnce } from './send.ts';

interface TryOptions {
  clock: Clock;
  /** The link of an alert; undefined for none. */
  link: string | undefined;
}

/** Sends a test message, with the same link as an alert. Returns why it failed, without the address, or null. */
export async function tryChannel(
  channel: AlertChannel,
  { clock, link }: TryOptions,
): Promise<string | null> {
  const message = {
    id: `test-${randomUUID()}`,
    kind: 'test',
    severity: 'info',
    title: 'Test of Backup Observatory',
    lines: [`Alerts reach you here, through the channel ${channel.name}.`],
    at: new Date(clock.now()),
    ...(link === undefined ? {} : { link }),
  } as const;
  const sent = await sendOnce(channel, message, { attempts: 1, clock });
  return sent.outcome === 'delivered' ? null : sent.reason;
}
