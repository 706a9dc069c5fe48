import { orAborted } from '../../async.ts';
import { type AlertChannel, type AlertMessage, ChannelError } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { Sent } from './claims.ts';

/** How long sending one message through a channel may take. */
const SEND_TIMEOUT_MS = 10_000;

/** The waits before the second attempt, the third and so on, of a message that did not arrive. */
const BACKOFF_MS = [60_000, 5 * 60_000, 15 * 60_000, 60 * 60_000] as const;
/**
 * The wait before the only retry of a message that may have arrived: a service that was down should be back by then.
 */
const UNCLEAR_PAUSE_MS = 15 * 60_000;
const MAX_RETRY_AFTER_MS = 6 * 3_600_000;
const MAX_REASON_LENGTH = 500;

/** Sends a message once, within 10 seconds even if the channel ignores its signal. Never throws. */
export async function sendOnce(
  channel: AlertChannel,
  message: AlertMessage,
  { attempts, clock }: { attempts: number; clock: Clock },
): Promise<Sent> {
  const limit = new AbortController();
  const done = new AbortController();
  const tooLong = new ChannelError(`${channel.kind} did not answer within 10 seconds`, {
    ...{ retryable: true, mayHaveArrived: true },
  });
  clock.sleep(SEND_TIMEOUT_MS, done.signal).then(
    () => limit.abort(tooLong),
    () => undefined, // It was sent in time.
  );
  try {
    await orAborted(limit.signal, (signal) => channel.send(message, signal));
    return { outcome: 'delivered' };
  } catch (error) {
    return describeFailure(limit.signal.aborted ? limit.signal.reason : error, attempts);
  } finally {
    done.abort();
  }
}

function describeFailure(error: unknown, attempts: number): Sent {
  if (!(error instanceof ChannelError)) {
    // It is unknown how far it got. The error's text may contain the address.
    const reason = `the channel failed unexpectedly (${error instanceof Error ? error.name : typeof error})`;
    return { outcome: 'failed', reason, mayHaveArrived: true, retryInMs: UNCLEAR_PAUSE_MS };
  }
  const { message, retryable, retryAfterMs = 0, mayHaveArrived } = error;
  const pause = mayHaveArrived ? UNCLEAR_PAUSE_MS : backoff(attempts);
  const retryInMs = Math.max(pause, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
  return {
    outcome: 'failed',
    reason: cleanText(message, MAX_REASON_LENGTH),
    mayHaveArrived,
    retryInMs: retryable ? retryInMs : null,
  };
}

function backoff(attempts: number): number {
  return BACKOFF_MS[Math.min(attempts, BACKOFF_MS.length) - 1] ?? BACKOFF_MS[0];
}
