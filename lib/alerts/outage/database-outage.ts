import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';
import type { AlertChannel } from '../channels/channel.ts';
import { sendOnce } from '../deliveries/send.ts';
import { databaseUnreachable } from '../rules/database-unreachable.ts';
import type { OutageMemory, OutageState } from './outage-memory.ts';
import { recordOutage } from './record-outage.ts';

const DAY_MS = 24 * 3_600_000;
/** How often a message may have arrived. */
const MAX_UNCLEAR = 2;
const MAX_CHANNELS = 100;
/** A database that comes and goes is told this often within a day. */
const MAX_TOLD_A_DAY = 3;
/** What nobody was told of and nobody saw for this long was another outage. */
const FORGOTTEN_AFTER_MS = 2 * 3_600_000;
/** A process that is killed while it sends may have sent: another one waits for this long. */
const KILLED_PAUSE_MS = 15 * 60_000;
/** What a clock may be ahead of another one on this machine, or of its own earlier time. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000;

export interface OutageDeps {
  memory: OutageMemory;
  /** Who could not reach the database, as the subject of a sentence. */
  who: string;
  clock: Clock;
  /** Shows a line. */
  tell(text: string): void;
}

export interface DatabaseAway {
  reason: string;
  /** A shorter outage is noted, but not told. */
  toleratedMs: number;
}

/**
 * Tells the channels that the database is away: once, and then once a day; a database that comes and goes three times a
 * day. The memory records what was told. An attempt is noted before it is made, so that no channel gets a message more
 * than twice.
 */
export async function tellDatabaseAway(
  { memory, who, clock, tell }: OutageDeps,
  channels: readonly AlertChannel[],
  { reason, toleratedMs }: DatabaseAway,
): Promise<void> {
  if (channels.length === 0) return;
  await memory.exclusively(async () => {
    const now = clock.now();
    const state = continueOutage(await memory.read(), now);
    const isFirst = state.told.length === 0 && state.channels.length === 0;
    const isHeldBack =
      now - Date.parse(state.since) < toleratedMs ||
      (isFirst && state.lately.length >= MAX_TOLD_A_DAY);
    const due = isHeldBack ? [] : channels.slice(0, MAX_CHANNELS).flatMap(claimDue(state, now));
    if (isFirst && due.length > 0) state.lately.push(timeOf(now));
    await memory.write(state);
    if (due.length === 0) return;
    const message = describe(state, `${who}: ${cleanText(reason, 1_000)}`);
    await Promise.all(
      due.map(async ({ channel, told }) => {
        const sent = await sendOnce(channel, message, { attempts: told.attempts, clock });
        if (sent.outcome === 'delivered') {
          Object.assign(told, { delivered: timeOf(clock.now()), nextAt: null });
          return;
        }
        if (!sent.mayHaveArrived) told.unclear--;
        told.nextAt = sent.retryInMs === null ? null : timeOf(clock.now() + sent.retryInMs);
        tell(`the alert about the database did not reach ${channel.name}: ${sent.reason}`);
      }),
    );
    await memory.write(state);
  });
}

const timeOf = (ms: number) => new Date(ms).toISOString();

/** The outage that is known if it is still the same one, with a new message after a day; else a new one. */
function continueOutage(known: OutageState | null, now: number): OutageState {
  const seen = timeOf(now);
  const isFuture = (time: string) => Date.parse(time) > now + MAX_CLOCK_SKEW_MS;
  // A clock that was wrong must not silence the alert.
  const isWrong = known !== null && [known.since, known.seen, known.at].some(isFuture);
  const lately = (known?.lately ?? []).filter(
    (time) => !isFuture(time) && now - Date.parse(time) < DAY_MS,
  );
  const told = listTold(known);
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

/** Notes a try for a channel that lacks the message; empty if it has it, or is not to be tried now. */
function claimDue(state: OutageState, now: number) {
  return (channel: AlertChannel) => {
    let told = state.channels.find(({ name }) => name === channel.name);
    if (told === undefined) {
      const { name } = channel;
      told = { name, delivered: null, attempts: 0, unclear: 0, nextAt: timeOf(now) };
      state.channels.push(told);
    }
    const isDue = told.nextAt !== null && Date.parse(told.nextAt) <= now;
    if (!isDue || told.unclear >= MAX_UNCLEAR) return [];
    told.attempts++;
    told.unclear++;
    told.nextAt = timeOf(now + KILLED_PAUSE_MS);
    return [{ channel, told }];
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
 * Records in the database that it was away, if anybody was to be told: the next evaluation tells the same channels that
 * it is back. Throws SERVICE_UNAVAILABLE.
 */
export async function noteDatabaseBack(
  db: Database,
  { memory, who, clock }: Pick<OutageDeps, 'memory' | 'who' | 'clock'>,
): Promise<void> {
  if (!isAway(await memory.read())) return;
  await memory.exclusively(async () => {
    const state = await memory.read();
    if (!isAway(state)) return;
    const told = listTold(state);
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

/** Whether the memory knows of an outage that has not ended. */
export function isAway(state: OutageState | null): state is OutageState {
  return state !== null && state.ended === null;
}

/** The channels that know of an outage, or may. */
function listTold(state: OutageState | null): string[] {
  if (state === null) return [];
  const now = state.channels.filter(({ delivered, unclear }) => delivered !== null || unclear > 0);
  return [...new Set([...state.told, ...now.map(({ name }) => name)])];
}
