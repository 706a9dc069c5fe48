import { sql } from 'drizzle-orm';
import { bigint, bigserial, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { time } from './columns.ts';

/** When runs start. */
export const schedules = pgTable(
  'schedules',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** As a person wrote it, such as `daily at 02:30`. */
    timing: text('timing').notNull(),
    timeZone: text('time_zone').notNull(),
    /** The longest time between two runs, in milliseconds. */
    intervalMs: bigint('interval_ms', { mode: 'number' }).notNull(),
    /** A list of ids of sources; null for all. */
    sources: jsonb('sources'),
    pausedAt: time('paused_at'),
    /** From when on it holds: since it was made, changed or continued. */
    since: time('since').notNull().defaultNow(),
    createdAt: time('created_at').notNull().defaultNow(),
    createdBy: text('created_by').notNull().default(''),
    /** The machine whose BACKUP_EVERY it is; null for one that was made on the page. */
    variableOf: text('variable_of'),
    /** When the next run is due; null if it is paused. */
    nextAt: time('next_at'),
    /** The time for which a server started a worker last, and the machine of that server. */
    claimedFor: time('claimed_for'),
    claimedBy: text('claimed_by'),
  },
  (table) => [
    uniqueIndex('schedules_of_variable').on(table.variableOf).where(sql`variable_of IS NOT NULL`),
  ],
);
