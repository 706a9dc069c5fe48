import { randomUUID } from 'node:crypto';
import type { AlertChannel, AlertMessage } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import type { FreshnessConfig } from '../../config/freshness.ts';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../log/log.ts';
import { linkToIncidents } from '../channels/page-link.ts';
import { composeMessage } from '../incidents/message.ts';
import { composeSummary } from '../incidents/summary.ts';
import { queueDigest } from '../telling/digest.ts';
import {
  type Claim,
  claimMessage,
  countWaiting,
  giveUpMessages,
  type Sent,
  settleMessage,
} from './claims.ts';
import { composeDigest } from './digest-message.ts';
import { holdMessages } from './hold.ts';
import { claimNotice, giveUpNotices, readSummary, settleNotice } from './notices.ts';
import { queueMessages } from './queue.ts';
import { sendOnce } from './send.ts';

/** How long a round may begin to send messages. */
const ROUND_MS = 20_000;
const MAX_MESSAGES = 20;

/** What is needed to deliver messages. */
export interface DeliveryDeps {
  db: Database;
  clock: Clock;
  log: Log;
  channels: readonly AlertChannel[];
  /** Mailboxes that get the digest only. */
  mailboxes: readonly AlertChannel[];
  config: Pick<AlertSendingConfig, 'PUBLIC_URL' | 'BASE_PATH'> & FreshnessConfig;
}

/** The outcome of a round of deliveries. */
export interface Delivered {
  delivered: number;
  /** Messages that wait for another round, counted up to 1,000, without those that are held. */
  waiting: number;
}

/**
 * Queues what these channels have not been sent yet, holds what must wait, and sends what is due: to all channels in parallel, the messages
 * of each in order. Takes at most about 30 seconds; what is left waits for the next round. Safe to run in several
 * processes at once. Throws SERVICE_UNAVAILABLE.
 */
export async function deliverMessages(deps: DeliveryDeps): Promise<Delivered> {
  const { db, clock, channels, mailboxes } = deps;
  const receivers = [...channels, ...mailboxes];
  const began = clock.now();
  const names = channels.map(({ name }) => name);
  await giveUpMessages(db, began);
  await giveUpNotices(db, began);
  await queueMessages(db, names, began);
  await holdMessages(db, began);
  await queueDigest(db, { channels: names, mailboxes: mailboxes.map(({ name }) => name) }, began);
  const ended = await Promise.allSettled(receivers.map((channel) => drain(deps, channel, began)));
  const failed = ended.find((one) => one.status === 'rejected');
  // What was claimed but not settled is sent again once its lease has ended.
  if (failed !== undefined) throw failed.reason;
  const delivered = ended.reduce(
    (sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0),
    0,
  );
  const all = receivers.map(({ name }) => name);
  return { delivered, waiting: all.length === 0 ? 0 : await countWaiting(db, all) };
}

async function drain(deps: DeliveryDeps, channel: AlertChannel, began: number): Promise<number> {
  const { clock, log } = deps;
  const by = randomUUID();
  let delivered = 0;
  for (let count = 0; count < MAX_MESSAGES; count++) {
    const now = clock.now();
    if (now - began > ROUND_MS) break;
    const claimed = await claimNext(deps, { channel: channel.name, by, now });
    if (claimed === null) break;
    const { attempts, message, about } = claimed;
    const sent = await sendOnce(channel, message, { attempts, clock });
    await claimed.settle(sent, { by, now: clock.now() });
    if (sent.outcome === 'delivered') {
      delivered++;
      continue;
    }
    const failure = { channel: channel.name, ...about, reason: sent.reason };
    log.warn('an alert was not delivered', failure);
    // The service is down, so the other messages wait as well. Otherwise the next claim finds out whether there is one
    // to send.
    if (sent.retryInMs !== null && !sent.mayHaveArrived) break;
  }
  return delivered;
}

/** A message that was claimed, with what records its outcome. */
interface Claimed {
  attempts: number;
  message: AlertMessage;
  /** What it is about, for the log. */
  about: Record<string, string>;
  settle(sent: Sent, claim: Pick<Claim, 'by' | 'now'>): Promise<void>;
}

/** Claims the next message of a channel: a summary comes before what happened after it. */
async function claimNext(
  { db, clock, config }: DeliveryDeps,
  claim: Claim,
): Promise<Claimed | null> {
  const link = linkToIncidents(config);
  const notice = await claimNotice(db, claim);
  if (notice !== null) {
    return {
      attempts: notice.attempts,
      message:
        notice.kind === 'digest'
          ? await composeDigest({ db, clock, config }, { id: notice.id, link })
          : composeSummary(await readSummary(db, notice), link),
      about: { kind: notice.kind },
      settle: (sent, by) => settleNotice(db, notice, sent, by),
    };
  }
  const claimed = await claimMessage(db, claim);
  if (claimed === null) return null;
  const { attempts, incidentId: incident, kind } = claimed;
  return {
    attempts,
    message: composeMessage(claimed, link),
    about: { incident, kind },
    settle: (sent, by) => settleMessage(db, claimed, sent, by),
  };
}
