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
 * The workers of a shared run. Deleted when the run ends. There is no foreign key, because other programs truncate
 * runs together with only the tables that they know.
 */
export const runMembers = pgTable(
  'run_members',
  {
    runId: integer('run_id').notNull(),
    /** Identifies one process in one run. */
    id: text('id').notNull(),
    /** The id in the machine's DATA_DIR, which contains its mirrors. */
    machine: text('machine').notNull(),
    hostName: text('host_name').notNull().default(''),
    /** The git host that the worker is configured for. */
    gitHostUrl: text('git_host_url').notNull().default(''),
    /** Whether this worker lists the repositories. */
    isStarter: boolean('is_starter').notNull().default(false),
    /** The time of the last beat; -infinity once the worker has left. */
    seenAt: time('seen_at').notNull().defaultNow(),
    progress: jsonb('progress'),
  },
  (table) => [primaryKey({ name: 'run_members_pkey', columns: [table.runId, table.id] })],
);

/** The repositories of a shared run, and a job for its end. Deleted when the run ends. */
export const runJobs = pgTable(
  'run_jobs',
  {
    id: bigserial('id', { mode: 'bigint' }).primaryKey(),
    runId: integer('run_id').notNull(),
    /** `repository`; `left_out`, which only counts; `found`, a result without a backup; `end`, which comes last. */
    kind: text('kind').notNull(),
    repository: text('repository').notNull(),
    /** The order of jobs, longest first, from 0. */
    position: integer('position').notNull().default(0),
    /** How long the last backup took; null if there is none. */
    expectedMs: bigint('expected_ms', { mode: 'number' }),
    /** What a worker needs to back it up, never a token: lib/worker/run/fleet/job-facts.ts. */
    facts: jsonb('facts').notNull().default({}),
    /** The host that git connects to; null for a folder. */
    host: text('host'),
    /** The git host whose login is needed; null if none is. */
    gitHostUrl: text('git_host_url'),
    /** The only member that can read the repository; null if all can. */
    onlyMember: text('only_member'),
    preferredMachine: text('preferred_machine'),
    state: text('state').notNull().default('open'),
    claimedBy: text('claimed_by'),
    /** -infinity for an unclaimed job. */
    leaseUntil: time('lease_until').notNull().default('-infinity'),
    /** How many times it was claimed without being given back. */
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
