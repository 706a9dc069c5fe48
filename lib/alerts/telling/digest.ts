import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonObject, readObject } from '../../records/base/page.ts';
import { isKnownTimeZone } from './time-zone.ts';

/** How often a digest comes. */
export const digestIntervals = ['daily', 'weekly'] as const;

/** When a digest is sent, and to whom. */
export interface Digest {
  every: (typeof digestIntervals)[number];
  /** The day of a weekly one, from 1 for Monday to 7 for Sunday. */
  weekday: number;
  /** A time of day, such as 08:00. */
  at: string;
  time_zone: string;
  /** The names of the channels; null for all. */
  channels: readonly string[] | null;
  /** Whether it is also mailed to SMTP_TO. */
  mail: boolean;
}

/** SQL for the times of the digest on the days from `first` to `last`, counted from the day of a moment. */
const times = (moment: string, first: number, last: number) => `
  SELECT (today + n * interval '1 day' + at_time) AT TIME ZONE time_zone AS at
  FROM (SELECT date_trunc('day', ${moment} AT TIME ZONE time_zone) AS today) AS local
    CROSS JOIN generate_series(${first}, ${last}) AS n
  WHERE every = 'daily' OR extract(isodow FROM today + n * interval '1 day') = weekday`;

const read: Statement = {
  name: 'read_digest',
  text: `SELECT ${jsonObject(`SELECT (SELECT row_to_json(planned) FROM (
      SELECT every, weekday, to_char(at_time, 'HH24:MI') AS at, time_zone, channels, mail, updated_by,
        ${iso('updated_at')} AS updated_at FROM digest
    ) AS planned) AS digest,
    (SELECT ${iso('min(next.at)')} FROM digest CROSS JOIN LATERAL (${times('$1::timestamptz', 0, 7)}) AS next
      WHERE next.at > $1::timestamptz) AS next_at,
    (SELECT ${iso('max(delivered_at)')} FROM alert_notices WHERE kind = 'digest') AS last_sent_at`)} AS item`,
};

/** Reads when the digest is sent and to whom, as JSON. `now` is in milliseconds since the epoch. */
export async function readDigest(db: Database, now: number): Promise<string> {
  const item = await readObject(db, read, [new Date(now).toISOString()]);
  if (item === null) throw new Error(`${read.name} returned no row`);
  return item;
}

const set: Statement = {
  name: 'set_digest',
  text: `INSERT INTO digest (id, every, weekday, at_time, time_zone, channels, mail, updated_by, updated_at)
    SELECT 1, $1, $2, $3::time, $4, $5::text[], $6, $7, $8::timestamptz WHERE ${isKnownTimeZone('$4')}
    ON CONFLICT (id) DO UPDATE SET every = excluded.every, weekday = excluded.weekday, at_time = excluded.at_time,
      time_zone = excluded.time_zone, channels = excluded.channels, mail = excluded.mail,
      updated_by = excluded.updated_by, updated_at = excluded.updated_at
    RETURNING 1`,
};

/** Replaces the settings of the digest. False if the database does not know the time zone. */
export async function setDigest(
  db: Database,
  { every, weekday, at, time_zone, channels, mail }: Digest,
  { by, now }: { by: string; now: number },
): Promise<boolean> {
  const values = [every, weekday, at, time_zone, channels, mail, by, new Date(now).toISOString()];
  return (await db.query(set, values)).length > 0;
}

const remove: Statement = { name: 'remove_digest', text: 'DELETE FROM digest RETURNING 1' };

/** Ends the digest. False if there is none. */
export async function removeDigest(db: Database): Promise<boolean> {
  return (await db.query(remove)).length > 0;
}

const queue: Statement = {
  name: 'queue_digest',
  text: `INSERT INTO alert_notices (kind, about_at, channel, created_at)
    SELECT 'digest', due.at, channel, $1::timestamptz
    FROM digest
    CROSS JOIN LATERAL (
      SELECT max(past.at) AS at FROM (${times('$1::timestamptz', -1, 0)}) AS past
      WHERE past.at <= $1::timestamptz AND past.at > $1::timestamptz - interval '1 day' AND past.at > updated_at
    ) AS due
    CROSS JOIN LATERAL (
      SELECT channel FROM unnest($2::text[]) AS channel WHERE channels IS NULL OR channel = ANY (channels)
      UNION SELECT mailbox FROM unnest($3::text[]) AS mailbox WHERE mail
    ) AS receiver
    WHERE due.at IS NOT NULL
    ON CONFLICT DO NOTHING`,
};

/**
 * Queues a digest that is due for those of these channels and mailboxes that are to get it, once, however many
 * processes do so. One that nobody could queue for a day is left out.
 */
export async function queueDigest(
  db: Database,
  { channels, mailboxes }: { channels: readonly string[]; mailboxes: readonly string[] },
  now: number,
): Promise<void> {
  await db.query(queue, [new Date(now).toISOString(), channels, mailboxes]);
}
