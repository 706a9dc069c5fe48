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

const REMIND_AFTER_MS = 24 * 3_600_000;
/** How often a message may have arrived. */
const MAX_UNCLEAR = 2;
const MAX_CHANNELS = 100;

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
 * Tells the channels that the database is away: once, and then once a day. The memory records what was told. An attempt
 * is noted before it is made, so that no channel gets a message more than twice.
 */
export async function tellDatabaseAway(
  { memory, who, clock, tell }: OutageDeps,
  channels: readonly AlertChannel[],
  { reason, toleratedMs }: DatabaseAway,
): Promise<void> {
  if (channels.length === 0) return;
  const now = new Date(clock.now()).toISOString();
  const known = await memory.read();
  const isNew = known === null || clock.now() - Date.parse(known.at) >= REMIND_AFTER_MS;
  const state: OutageState = isNew
    ? { since: known?.since ?? now, at: now, told: listTold(known), channels: {} }
    : known;
  if (clock.now() - Date.parse(state.since) < toleratedMs) return memory.write(state);
  const due = channels.slice(0, MAX_CHANNELS).filter(({ name }) => {
    const told = state.channels[name];
    return told === undefined || (told.delivered === null && told.unclear < MAX_UNCLEAR);
  });
  if (due.length === 0) return;
  for (const { name } of due) {
    const { attempts = 0, unclear = 0 } = state.channels[name] ?? {};
    state.channels[name] = { delivered: null, attempts: attempts + 1, unclear: unclear + 1 };
  }
  await memory.write(state);
  const message = describe(state, `${who}: ${cleanText(reason, 1_000)}`);
  await Promise.all(
    due.map(async (channel) => {
      const told = state.channels[channel.name];
      if (told === undefined) return;
      const sent = await sendOnce(channel, message, { attempts: told.attempts, clock });
      if (sent.outcome === 'delivered') told.delivered = new Date(clock.now()).toISOString();
      else {
        if (!sent.mayHaveArrived) told.unclear--;
        tell(`the alert about the database did not reach ${channel.name}: ${sent.reason}`);
      }
    }),
  );
  await memory.write(state);
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
 * Records in the database that it was away, if anybody was told: the next evaluation tells the same channels that it is
 * back. Throws SERVICE_UNAVAILABLE.
 */
export async function noteDatabaseBack(
  db: Database,
  { memory, who }: Pick<OutageDeps, 'memory' | 'who'>,
): Promise<void> {
  const state = await memory.read();
  if (state === null) return;
  const told = listTold(state);
  if (told.length > 0 || Object.keys(state.channels).length > 0) {
    await recordOutage(db, {
      since: state.since,
      summary: `${who} could not reach the database`,
      told: told.map((channel) => {
        const { delivered = null, attempts = 1 } = state.channels[channel] ?? {};
        return { channel, delivered, attempts };
      }),
    });
  }
  await memory.clear();
}

/** The channels that know of an outage, or may. */
function listTold(state: OutageState | null): string[] {
  if (state === null) return [];
  const now = Object.entries(state.channels).filter(
    ([, { delivered, unclear }]) => delivered !== null || unclear > 0,
  );
  return [...new Set([...state.told, ...now.map(([name]) => name)])];
}
