import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { type AlertChannel, ChannelError } from './channel.ts';
import { linkToIncidents } from './page-link.ts';

const TIMEOUT_MS = 10_000;

interface TryOptions {
  clock: Clock;
  /** Where people open the page. Undefined if nobody knows. */
  publicUrl: string | undefined;
  signal?: AbortSignal;
}

/** Sends a test message, with a link as alerts have it. Why it was not sent, or null; never with the address. */
export async function tryChannel(
  channel: AlertChannel,
  { clock, publicUrl, signal }: TryOptions,
): Promise<string | null> {
  const done = new AbortController();
  const expired = new AbortController();
  clock.sleep(TIMEOUT_MS, done.signal).then(
    () => expired.abort(),
    () => undefined, // the answer came first
  );
  const limit = signal ? AbortSignal.any([signal, expired.signal]) : expired.signal;
  try {
    await channel.send(
      {
        id: `test-${randomUUID()}`,
        kind: 'test',
        severity: 'info',
        title: 'Test of Backup Observatory',
        lines: [`Alerts reach you here, through the channel ${channel.name}.`],
        at: new Date(clock.now()),
        ...(publicUrl === undefined ? {} : { link: linkToIncidents(publicUrl) }),
      },
      limit,
    );
    return null;
  } catch (error) {
    if (error instanceof ChannelError) return error.message;
    throw error;
  } finally {
    done.abort();
  }
}
