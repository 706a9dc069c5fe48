import { sql } from 'drizzle-orm';
import { check, index, integer, pgTable, serial, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { newestFirst, time } from './columns.ts';

/** How old the newest backup of a group of repositories may be, and how soon a restore has to be done. */
export const objectives = pgTable(
  'objectives',
  {
    id: serial('id').primaryKey(),
    name: text('name').notNull(),
    /** The patterns of the group's names: lib/text/name-pattern.ts, without […] and {…}. */
    patterns: text('patterns').array().notNull(),
    /** A repository belongs to the first objective that matches, by this number and then by id. */
    position: integer('position').notNull().default(0),
    /** Null for no such objective. */
    rpoHours: integer('rpo_hours'),
    rtoMinutes: integer('rto_minutes'),
    createdAt: time('created_at').notNull().defaultNow(),
    changedBy: text('changed_by').notNull().default(''),
  },
  () => [
    uniqueIndex('objectives_by_name').on(sql`lower(name)`),
    check('objectives_some', sql`rpo_hours IS NOT NULL OR rto_minutes IS NOT NULL`),
  ],
);

/**
 * When runs found a repository good, for about 100 days: from `since` to `until` at least once an hour. A trigger keeps
 * it (functions/repository-checks.sql), because a run that finds a repository unchanged adds no result.
 */
export const repositoryChecks = pgTable(
  'repository_checks',
  {
    id: serial('id').primaryKey(),
    repoFullName: text('repo_full_name').notNull(),
    since: time('since').notNull(),
    until: time('until').notNull(),
  },
  (table) => [index('repository_checks_newest').on(table.repoFullName, newestFirst(table.until))],
);
