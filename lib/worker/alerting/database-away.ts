import { mkdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import type { AlertChannel } from '../../alerts/channels/channel.ts';
import { sendOnce } from '../../alerts/deliveries/send.ts';
import { recordOutage } from '../../alerts/incidents/record-outage.ts';
import { databaseUnreachable } from '../../alerts/rules/database-unreachable.ts';
import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';
import { cleanText } from '../../text/clean-text.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';

const REMIND_AFTER_MS = 24 * 3_600_000;
/** How often a message may have arrived. */
const MAX_UNCLEAR = 2;
const MAX_CHANNELS = 100;

const stateFile = z.object({
  /** When the database was first found to be away. */
  since: z.iso.datetime(),
  /** When the message was made that is sent, once to each channel. */
  at: z.iso.datetime(),
  /** Channels that an earlier message of this outage has reached, or may have. */
  told: z.array(z.string()).default([]),
  channels: z.record(
    z.string(),
    z.object({ delivered: z.iso.datetime().nullable(), attempts: z.int(), unclear: z.int() }),
  ),
});
type State = z.output<typeof stateFile>;

export interface AwayDeps {
  dataFolder: string;
  clock: Clock;
  /** Shows a line. */
  tell(text: string): void;
}

const pathOf = (dataFolder: string) => join(dataFolder, 'alerts', 'database-away.json');

/**
 * Tells the channels from this machine that the database is away: once, and then once a day. A file in DATA_DIR records
 * what was told. An attempt is noted before it is made, so that no channel gets a message more than twice.
 */
export async function tellDatabaseAway(
  { dataFolder, clock, tell }: AwayDeps,
  channels: readonly AlertChannel[],
  reason: string,
): Promise<void> {
  if (channels.length === 0) return;
  const path = pathOf(dataFolder);
  const now = new Date(clock.now()).toISOString();
  const known = await readState(path);
  const isNew = known === null || clock.now() - Date.parse(known.at) >= REMIND_AFTER_MS;
  const state: State = isNew
    ? { since: known?.since ?? now, at: now, told: listTold(known), channels: {} }
    : known;
  const due = channels.slice(0, MAX_CHANNELS).filter(({ name }) => {
    const told = state.channels[name];
    return told === undefined || (told.delivered === null && told.unclear < MAX_UNCLEAR);
  });
  if (due.length === 0) return;
  for (const { name } of due) {
    const { attempts = 0, unclear = 0 } = state.channels[name] ?? {};
    state.channels[name] = { delivered: null, attempts: attempts + 1, unclear: unclear + 1 };
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const write = () => replaceFile(path, `${JSON.stringify(state)}\n`);
  await write();
  const message = describe(state, cleanText(reason, 1_000), isNew && known !== null);
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
  await write();
}

function describe({ since, at }: State, reason: string, isReminder: boolean) {
  const lasts = formatDuration(Date.parse(at) - Date.parse(since));
  return {
    id: `database-unreachable-${Date.parse(since)}-${Date.parse(at)}`,
    kind: isReminder ? ('reminder' as const) : ('opened' as const),
    severity: databaseUnreachable.severity,
    title: `${isReminder ? 'Still: ' : ''}${databaseUnreachable.title}`,
    lines: [
      `The worker on ${cleanText(hostname(), 250)}: ${reason}`,
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
  { dataFolder }: Pick<AwayDeps, 'dataFolder'>,
): Promise<void> {
  const path = pathOf(dataFolder);
  const state = await readState(path);
  if (state !== null) {
    const host = cleanText(hostname(), 250);
    await recordOutage(db, {
      since: state.since,
      summary: `The worker on ${host} could not reach the database`,
      told: listTold(state).map((channel) => {
        const { delivered = null, attempts = 1 } = state.channels[channel] ?? {};
        return { channel, delivered, attempts };
      }),
    });
  }
  await rm(path, { force: true });
}

/** The channels that know of an outage, or may. */
function listTold(state: State | null): string[] {
  if (state === null) return [];
  const now = Object.entries(state.channels).filter(
    ([, { delivered, unclear }]) => delivered !== null || unclear > 0,
  );
  return [...new Set([...state.told, ...now.map(([name]) => name)])];
}

/** Null if there is none or it cannot be read. The alert is then sent again, which is better than never. */
async function readState(path: string): Promise<State | null> {
  const text = await nullIfMissing(readFile(path, 'utf8'));
  return text === null ? null : (stateFile.safeParse(parseJson(text)).data ?? null);
}
