import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { type AlertChannel, ChannelError } from './channel.ts';

const TIMEOUT_MS = 10_000;

/** Sends a test message. Why it was not sent, or null; never with the address. */
export async function tryChannel(
  channel: AlertChannel,
  { clock, signal }: { clock: Clock; signal?: AbortSignal },
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
