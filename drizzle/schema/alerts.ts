import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { newestFirst, time } from './columns.ts';

/** Problems found by the alert rules: one row per problem, open until its rule no longer finds it. */
export const incidents = pgTable(
  'incidents',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    /** From lib/alerts/rules. */
    rule: text('rule').notNull(),
    /** The subject of the incident, such as a store; empty if the rule has only one subject. */
    subject: text('subject').notNull().default(''),
    /** One sentence for a person. */
    summary: text('summary').notNull().default(''),
    /** Further findings of the rule; `repositories` counts all of them, including those not listed. */
    details: jsonb('details').notNull().default({}),
    openedAt: time('opened_at').notNull().defaultNow(),
    lastSeenAt: time('last_seen_at').notNull().defaultNow(),
    /** Since when the rule no longer finds it; null while it does. */
    clearSince: time('clear_since'),
    remindedAt: time('reminded_at'),
    acknowledgedAt: time('acknowledged_at'),
    acknowledgedBy: text('acknowledged_by'),
    resolvedAt: time('resolved_at'),
  },
  (table) => [
    uniqueIndex('incidents_open').on(table.rule, table.subject).where(sql`resolved_at IS NULL`),
    index('incidents_newest').on(newestFirst(table.openedAt), newestFirst(table.id)),
    index('incidents_of_rule').on(table.rule, newestFirst(table.openedAt), newestFirst(table.id)),
    index('incidents_resolved')
      .on(newestFirst(table.resolvedAt))
      .where(sql`resolved_at IS NOT NULL`),
  ],
);

/** The repositories of an incident. */
export const incidentRepositories = pgTable(
  'incident_repositories',
  {
    incidentId: bigint('incident_id', { mode: 'bigint' }).notNull(),
    repositoryName: text('repository_name').notNull(),
    reason: text('reason').notNull().default(''),
    /** Since when the repository has the problem; null if unknown. */
    since: time('since'),
    /** When the repository last joined the incident. */
    joinedAt: time('joined_at').notNull().defaultNow(),
    /** From lib/alerts/rules/rule.ts: a loss is worse than a failure. */
    severity: integer('severity').notNull().default(0),
    /** When its problem was resolved, which may be before the incident was. */
    resolvedAt: time('resolved_at'),
  },
  (table) => [
    primaryKey({
      name: 'incident_repositories_pkey',
      columns: [table.incidentId, table.repositoryName],
    }),
    foreignKey({
      name: 'incident_repositories_incident_id_fkey',
      columns: [table.incidentId],
      foreignColumns: [incidents.id],
    }).onDelete('cascade'),
    index('incident_repositories_by_name').on(sql`lower(repository_name)`, table.incidentId),
  ],
);

/** Messages about incidents, one per channel. Claimed before they are sent, so that none is sent too often. */
export const alertDeliveries = pgTable(
  'alert_deliveries',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    incidentId: bigint('incident_id', { mode: 'bigint' }).notNull(),
    kind: text('kind').notNull(),
    /** The incident's opened_at, reminded_at or resolved_at, depending on the kind of message. */
    aboutAt: time('about_at').notNull(),
    /** The name of the channel, never its address. */
    channel: text('channel').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** How many times sending was attempted. */
    attempts: integer('attempts').notNull().default(0),
    /** How many attempts may have arrived without confirmation: at most two. */
    unclear: integer('unclear').notNull().default(0),
    /** Until when one process may send it exclusively; -infinity if unclaimed. */
    claimedUntil: time('claimed_until').notNull().default('-infinity'),
    claimedBy: text('claimed_by'),
    /** The earliest time of the next attempt. */
    nextAttemptAt: time('next_attempt_at').notNull().default('-infinity'),
    deliveredAt: time('delivered_at'),
    /** When it was given up. */
    givenUpAt: time('given_up_at'),
    lastError: text('last_error'),
    /**
     * What keeps it from being sent on its own: `quiet_hours`, `mute` or `maintenance`; `undecided` until that is known,
     * and null if nothing does.
     */
    heldBy: text('held_by'),
    /** The summary that tells of it, after it was held. */
    noticeId: bigint('notice_id', { mode: 'bigint' }),
  },
  (table) => [
    check('alert_deliveries_kind_check', sql`kind IN ('opened', 'reminder', 'resolved')`),
    foreignKey({
      name: 'alert_deliveries_incident_id_fkey',
      columns: [table.incidentId],
      foreignColumns: [incidents.id],
    }).onDelete('cascade'),
    uniqueIndex('alert_deliveries_once').on(
      table.incidentId,
      table.kind,
      table.aboutAt,
      table.channel,
    ),
    index('alert_deliveries_open')
      .on(table.channel, table.id)
      .where(sql`delivered_at IS NULL AND given_up_at IS NULL`),
    index('alert_deliveries_of_notice').on(table.noticeId).where(sql`notice_id IS NOT NULL`),
  ],
);

/** The single row that concurrent evaluations race for: one that has read an outdated number changes nothing. */
export const alertEvaluation = pgTable(
  'alert_evaluation',
  {
    id: integer('id').primaryKey().default(1),
    evaluation: bigint('evaluation', { mode: 'number' }).notNull().default(0),
    /** When the rules were first evaluated; null until then. */
    evaluatedAt: time('evaluated_at'),
  },
  () => [check('alert_evaluation_one_row', sql`id = 1`)],
);

/** What the worker knows about its login to each git host. */
export const hostLogins = pgTable('host_logins', {
  gitHostUrl: text('git_host_url').primaryKey(),
  seenAt: time('seen_at').notNull().defaultNow(),
  /** When the token expires, if the host reports it, or can no longer be renewed; null if unknown or never. */
  expiresAt: time('expires_at'),
  /** Since when the host refuses the login; null if it does not. */
  refusedSince: time('refused_since'),
  /** The reason of the refusal, for people. */
  reason: text('reason').notNull().default(''),
  /** The failed run whose message is the reason; null for other reasons. */
  refusedRunId: integer('refused_run_id'),
});

/** The disk space for archives on each machine, after the last run of each day. */
export const archiveDisks = pgTable(
  'archive_disks',
  {
    /** The id in the machine's DATA_DIR. */
    machine: text('machine').notNull(),
    /** In UTC, such as 2026-05-01. */
    day: text('day').notNull(),
    hostName: text('host_name').notNull().default(''),
    measuredAt: time('measured_at').notNull().defaultNow(),
    freeBytes: bigint('free_bytes', { mode: 'number' }).notNull(),
    totalBytes: bigint('total_bytes', { mode: 'number' }).notNull(),
  },
  (table) => [primaryKey({ name: 'archive_disks_pkey', columns: [table.machine, table.day] })],
);
