import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { time } from './columns.ts';

/**
 * The workers that take part in a run that is shared. They are deleted when it ends. No foreign key: other programs
 * truncate runs with the tables that they know.
 */
export const runMembers = pgTable(
  'run_members',
  {
    runId: integer('run_id').notNull(),
    /** Of one process, in one run. */
    id: text('id').notNull(),
    /** The id in its DATA_DIR, where its mirrors are. */
    machine: text('machine').notNull(),
    hostName: text('host_name').notNull().default(''),
    /** The git host that it is configured for. */
    gitHostUrl: text('git_host_url').notNull().default(''),
    /** Whether it lists the repositories. */
    isStarter: boolean('is_starter').notNull().default(false),
    /** -infinity once it has left. */
    seenAt: time('seen_at').notNull().defaultNow(),
    progress: jsonb('progress'),
  },
  (table) => [primaryKey({ name: 'run_members_pkey', columns: [table.runId, table.id] })],
);

/** The repositories of a run that workers share, and its end. They are deleted when the run ends. */
export const runJobs = pgTable(
  'run_jobs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    runId: integer('run_id').notNull(),
    /** `repository`; `left_out`, which counts for the figures; `found`, a result without a backup; `end`, after all. */
    kind: text('kind').notNull(),
    repository: text('repository').notNull(),
    /** The longest job is 0. */
    position: integer('position').notNull().default(0),
    /** How long its last backup took; null if there is none. */
    expectedMs: bigint('expected_ms', { mode: 'number' }),
    /** What another worker needs to back it up: lib/worker/fleet/job-facts.ts. Never a token. */
    facts: jsonb('facts').notNull().default({}),
    /** The host that git asks; null for a folder. */
    host: text('host'),
    /** The git host whose login is needed; null if none is. */
    gitHostUrl: text('git_host_url'),
    /** The only member that can read it; null if all can. */
    onlyMember: text('only_member'),
    preferredMachine: text('preferred_machine'),
    state: text('state').notNull().default('open'),
    claimedBy: text('claimed_by'),
    /** -infinity for a job that is not claimed. */
    leaseUntil: time('lease_until').notNull().default('-infinity'),
    /** How often it was claimed, but not given back. */
    tries: integer('tries').notNull().default(0),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    check('run_jobs_kind_check', sql`kind IN ('repository', 'left_out', 'found', 'end')`),
    check('run_jobs_state_check', sql`state IN ('open', 'done')`),
    uniqueIndex('run_jobs_of_repository').on(table.runId, table.kind, table.repository),
    index('run_jobs_open').on(table.runId, table.kind, table.position).where(sql`state = 'open'`),
    index('run_jobs_preferred')
      .on(table.runId, table.preferredMachine, table.position)
      .where(sql`state = 'open'`),
  ],
);
