import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  check,
  index,
  integer,
  pgTable,
  text,
  time as timeOfDay,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** When messages wait: at most one row. */
export const quietHours = pgTable(
  'quiet_hours',
  {
    id: integer('id').primaryKey().default(1),
    fromTime: timeOfDay('from_time').notNull(),
    /** On the next day if it is not after `from_time`. */
    toTime: timeOfDay('to_time').notNull(),
    /** An IANA name, such as Europe/Berlin. */
    timeZone: text('time_zone').notNull(),
    /** The days of the week on which they begin, from 1 for Monday to 7 for Sunday. */
    days: integer('days').array().notNull(),
    /** Whether messages about critical incidents are sent nevertheless. */
    criticalPasses: boolean('critical_passes').notNull(),
    updatedBy: text('updated_by').notNull(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  () => [check('quiet_hours_one_row', sql`id = 1`)],
);

/** What nobody is told about until a time. */
export const mutes = pgTable(
  'mutes',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** `all`, `repository` or `incident`. */
    scope: text('scope').notNull(),
    repositoryName: text('repository_name'),
    incidentId: bigint('incident_id', { mode: 'bigint' }),
    until: time('until').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** When somebody ended it early. */
    endedAt: time('ended_at'),
    endedBy: text('ended_by'),
  },
  (table) => [
    check('mutes_scope_check', sql`scope IN ('all', 'repository', 'incident')`),
    index('mutes_by_end').on(table.until).where(sql`ended_at IS NULL`),
  ],
);

/** Times of planned work. What begins in one is not told, unless it outlasts it. */
export const maintenanceWindows = pgTable(
  'maintenance_windows',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    note: text('note').notNull(),
    /** The first window, or the only one. */
    startsAt: time('starts_at').notNull(),
    endsAt: time('ends_at').notNull(),
    /** `daily` or `weekly`, at the same time of day in `time_zone`; null if it does not repeat. */
    repeats: text('repeats'),
    timeZone: text('time_zone').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    removedAt: time('removed_at'),
    removedBy: text('removed_by'),
  },
  (table) => [
    check('maintenance_windows_repeats_check', sql`repeats IN ('daily', 'weekly')`),
    index('maintenance_windows_in_use').on(table.endsAt).where(sql`removed_at IS NULL`),
  ],
);

/** Messages that are not about one incident, one per channel. Claimed and sent like `alert_deliveries`. */
export const alertNotices = pgTable(
  'alert_notices',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** `summary`: of the messages whose `notice_id` it is. `digest`: of the state of the backups. */
    kind: text('kind').notNull(),
    /** When it became due. */
    aboutAt: time('about_at').notNull(),
    /** The name of the channel, never its address. */
    channel: text('channel').notNull(),
    /** What held the messages of a summary; `several` if it was not the same for all. */
    heldBy: text('held_by'),
    createdAt: time('created_at').notNull().defaultNow(),
    attempts: integer('attempts').notNull().default(0),
    unclear: integer('unclear').notNull().default(0),
    claimedUntil: time('claimed_until').notNull().default('-infinity'),
    claimedBy: text('claimed_by'),
    nextAttemptAt: time('next_attempt_at').notNull().default('-infinity'),
    deliveredAt: time('delivered_at'),
    givenUpAt: time('given_up_at'),
    lastError: text('last_error'),
  },
  (table) => [
    uniqueIndex('alert_notices_once').on(table.kind, table.aboutAt, table.channel),
    index('alert_notices_open')
      .on(table.channel, table.id)
      .where(sql`delivered_at IS NULL AND given_up_at IS NULL`),
  ],
);

/** When the digest is sent, and to whom: at most one row. */
export const digest = pgTable(
  'digest',
  {
    id: integer('id').primaryKey().default(1),
    /** `daily` or `weekly`. */
    every: text('every').notNull(),
    /** The day of the week of a weekly one, from 1 for Monday to 7 for Sunday. */
    weekday: integer('weekday').notNull(),
    atTime: timeOfDay('at_time').notNull(),
    /** An IANA name, such as Europe/Berlin. */
    timeZone: text('time_zone').notNull(),
    /** The names of the channels; null for all. */
    channels: text('channels').array(),
    /** Whether it is also mailed to the addresses in SMTP_TO. */
    mail: boolean('mail').notNull(),
    updatedBy: text('updated_by').notNull(),
    updatedAt: time('updated_at').notNull().defaultNow(),
  },
  () => [
    check('digest_one_row', sql`id = 1`),
    check('digest_every_check', sql`every IN ('daily', 'weekly')`),
  ],
);
