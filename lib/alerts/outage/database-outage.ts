import type { AlertChannel } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';
import { sendOnce } from '../deliveries/send.ts';
import { databaseUnreachable } from '../rules/database-unreachable.ts';
import type { OutageMemory, OutageState } from './outage-memory.ts';
import { recordOutage } from './record-outage.ts';

const DAY_MS = 24 * 3_600_000;
/** Maximum number of attempts of one message that may have arrived. */
const MAX_UNCLEAR = 2;
const MAX_CHANNELS = 100;
/** Alerts about a database that comes and goes, within a day. */
const MAX_ALERTS_A_DAY = 3;
/** An outage that no channel was alerted to and that was not seen for this long is over; the next one is another. */
const FORGOTTEN_AFTER_MS = 2 * 3_600_000;
/** A process that was killed while sending may have sent the message, so another one waits this long. */
const KILLED_PAUSE_MS = 15 * 60_000;
/** How far a clock may be ahead of another one on this machine, or of its own earlier time. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000;

export interface OutageDeps {
  memory: OutageMemory;
  /** What could not reach the database, as the subject of a sentence. */
  who: string;
  clock: Clock;
  /** Prints a line. */
  tell(text: string): void;
}

export interface UnreachableDatabase {
  reason: string;
  /** A shorter outage is noted, but not alerted. */
  toleratedMs: number;
}

/**
 * Alerts the channels that the database is unreachable: once, then once a day, and at most three times a day if the
 * database comes and goes. The memory records what was sent. An attempt is noted before it is made, so that no channel
 * gets a message more than twice.
 */
export async function alertDatabaseUnreachable(
  { memory, who, clock, tell }: OutageDeps,
  channels: readonly AlertChannel[],
  { reason, toleratedMs }: UnreachableDatabase,
): Promise<void> {
  if (channels.length === 0) return;
  await memory.exclusively(async () => {
    const now = clock.now();
    const state = continueOutage(await memory.read(), now);
    const isFirst = state.told.length === 0 && state.channels.length === 0;
    const isHeldBack =
      now - Date.parse(state.since) < toleratedMs ||
      (isFirst && state.lately.length >= MAX_ALERTS_A_DAY);
    const due = isHeldBack ? [] : channels.slice(0, MAX_CHANNELS).flatMap(claimDue(state, now));
    if (isFirst && due.length > 0) state.lately.push(timeOf(now));
    await memory.write(state);
    if (due.length === 0) return;
    const message = describe(state, `${who}: ${cleanText(reason, 1_000)}`);
    await Promise.all(
      due.map(async ({ channel, delivery }) => {
        const sent = await sendOnce(channel, message, { attempts: delivery.attempts, clock });
        if (sent.outcome === 'delivered') {
          Object.assign(delivery, { delivered: timeOf(clock.now()), nextAt: null });
          return;
        }
        if (!sent.mayHaveArrived) delivery.unclear--;
        delivery.nextAt = sent.retryInMs === null ? null : timeOf(clock.now() + sent.retryInMs);
        tell(`the alert about the database did not reach ${channel.name}: ${sent.reason}`);
      }),
    );
    await memory.write(state);
  });
}

const timeOf = (ms: number) => new Date(ms).toISOString();

/**
 * Continues the known outage if it is still the same one, with a new message after a day; otherwise starts a new one.
 */
function continueOutage(known: OutageState | null, now: number): OutageState {
  const seen = timeOf(now);
  const isFuture = (time: string) => Date.parse(time) > now + MAX_CLOCK_SKEW_MS;
  // A clock that was wrong must not silence the alert.
  const isWrong = known !== null && [known.since, known.seen, known.at].some(isFuture);
  const lately = (known?.lately ?? []).filter(
    (time) => !isFuture(time) && now - Date.parse(time) < DAY_MS,
  );
  const told = listAlerted(known);
  const isOther =
    known === null ||
    isWrong ||
    known.ended !== null ||
    (told.length === 0 && now - Date.parse(known.seen) > FORGOTTEN_AFTER_MS);
  if (isOther) {
    return { since: seen, seen, ended: null, at: seen, told: [], channels: [], lately };
  }
  if (now - Date.parse(known.at) < DAY_MS) return { ...known, seen, lately };
  return { ...known, seen, at: seen, told, channels: [], lately };
}

/**
 * Notes an attempt for a channel that lacks the message; returns none if it has the message, or if no attempt is due.
 */
function claimDue(state: OutageState, now: number) {
  return (channel: AlertChannel) => {
    let delivery = state.channels.find(({ name }) => name === channel.name);
    if (delivery === undefined) {
      const { name } = channel;
      delivery = { name, delivered: null, attempts: 0, unclear: 0, nextAt: timeOf(now) };
      state.channels.push(delivery);
    }
    const isDue = delivery.nextAt !== null && Date.parse(delivery.nextAt) <= now;
    if (!isDue || delivery.unclear >= MAX_UNCLEAR) return [];
    delivery.attempts++;
    delivery.unclear++;
    delivery.nextAt = timeOf(now + KILLED_PAUSE_MS);
    return [{ channel, delivery }];
  };
}

function describe({ since, at, told }: OutageState, reason: string) {
  const isReminder = told.length > 0;
  const lasts = formatDuration(Date.parse(at) - Date.parse(since));
  return {
    id: `database-unreachable-${Date.parse(since)}-${Date.parse(at)}`,
    kind: isReminder ? ('reminder' as const) : ('opened' as const),
    severity: databaseUnreachable.severity,
    title: `${isReminder ? 'Still: ' : ''}${databaseUnreachable.title}`,
    lines: [
      reason,
      ...(isReminder ? [`Since ${formatMinute(since)}, for ${lasts}`] : []),
      `What to do: ${databaseUnreachable.advice}`,
      'Until then, runs record their results in DATA_DIR, and deliver them once the database is back.',
    ],
    at: new Date(at),
  };
}

/**
 * Records in the database that it was unreachable, if a message about it was attempted: the next evaluation notifies
 * the same channels that it is back. Throws SERVICE_UNAVAILABLE.
 */
export async function recordDatabaseBack(
  db: Database,
  { memory, who, clock }: Pick<OutageDeps, 'memory' | 'who' | 'clock'>,
): Promise<void> {
  if (!isOngoing(await memory.read())) return;
  await memory.exclusively(async () => {
    const state = await memory.read();
    if (!isOngoing(state)) return;
    const told = listAlerted(state);
    if (told.length > 0 || state.channels.length > 0) {
      await recordOutage(db, {
        since: state.since,
        summary: `${who} could not reach the database`,
        told: told.map((channel) => {
          const { delivered = null, attempts = 1 } =
            state.channels.find(({ name }) => name === channel) ?? {};
          return { channel, delivered, attempts };
        }),
      });
    }
    await memory.write({ ...state, ended: timeOf(clock.now()) });
  });
}

/** Whether the remembered outage has not ended. */
export function isOngoing(state: OutageState | null): state is OutageState {
  return state !== null && state.ended === null;
}

/** The channels that know, or may know, about an outage. */
function listAlerted(state: OutageState | null): string[] {
  if (state === null) return [];
  const now = state.channels.filter(({ delivered, unclear }) => delivered !== null || unclear > 0);
  return [...new Set([...state.told, ...now.map(({ name }) => name)])];
}
