import * as z from 'zod';
import { anomalyKinds, MAX_CHANGES, type NewAnomaly } from '../../records/anomalies/kinds.ts';
import { coveragePlans, type SeenRepository } from '../../records/recording/plans.ts';
import { archiveLacks } from '../../records/recording/results.ts';
import type { NewSnapshot } from '../../records/recording/snapshots.ts';
import { storingFaults } from '../../records/recording/stores.ts';
import { runFaults } from '../../records/runs/run-faults.ts';
import type { StoredEntry } from '../base/run-entry.ts';

const text = z.string().max(10_000);
const name = z.string().min(1).max(1_000);
const count = z.int().min(0);
const row = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const time = z.iso.datetime();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const counters = z.strictObject({ successful: row, failed: row, skipped: row });

const snapshot = z.strictObject({
  head_commit: text,
  head_commit_message: text,
  head_commit_at: text.nullable(),
  total_commits: row,
  branch_count: row,
  tag_count: row,
  tracked_files: row,
  total_blob_size_bytes: count,
  avg_blob_size_bytes: count,
  largest_blob_path: text,
  largest_blob_size_bytes: count,
  archive_count: row,
  total_archive_size_bytes: count,
  avg_archive_size_bytes: count,
  largest_archive_path: text,
  largest_archive_size_bytes: count,
}) satisfies z.ZodType<NewSnapshot>;

const values = z
  .record(z.string().max(1_100), z.string().max(1_100))
  .refine((given) => Object.keys(given).length <= MAX_CHANGES, 'has too many entries');
const anomaly = z.strictObject({
  kind: z.enum(anomalyKinds),
  changeCount: row,
  before: values,
  after: values,
}) satisfies z.ZodType<NewAnomaly>;

const seenRepository = z.strictObject({
  name,
  plan: z.enum(coveragePlans),
  reason: text,
  facts: z.strictObject({
    archived: z.boolean().optional(),
    has_wiki: z.boolean().optional(),
    has_issues: z.boolean().optional(),
    has_discussions: z.boolean().optional(),
    open_issues: count.optional(),
    pushed: z.boolean().optional(),
  }),
}) satisfies z.ZodType<SeenRepository>;

const version = z.strictObject({
  version: row.min(1),
  at: time,
  headBranch: text.nullable(),
  refsSha256: z.string().max(64),
  manifestSha256: sha256,
  archiveKey: name,
  files: row,
  sizeBytes: count,
  newBytes: count,
  warning: text.nullable(),
  anomalies: z.array(anomaly).max(anomalyKinds.length).default([]),
  refs: z.record(z.string().regex(/^(?:HEAD$|refs\/)/), objectId),
});

/** The first line of a spool. */
export const spoolHeader = z.strictObject({
  type: z.literal('run'),
  format: z.literal(1),
  spool_id: z.uuid(),
  at: time,
  /** The run's row, if it started in the database. */
  run: z.strictObject({ id: row, startedAt: time }).nullable(),
});

/** All further lines. Times are by the worker's clock; no two lines have the same time. */
export const spoolLine = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ type: z.literal('log'), at: time, message: text, repository: name.nullable() },
    level: z.enum(['info', 'warn', 'error']),
  }),
  z.strictObject({
    ...{ type: z.literal('result'), at: time, repository: name, counters, position: row },
    status: z.enum(['completed', 'failed', 'empty', 'too_large']),
    commitHash: z.string().max(64),
    archiveSizeBytes: count,
    durationMs: z.number().min(0),
    errorMessage: text,
    incomplete: text.nullish(),
    lacks: z.partialRecord(z.enum(archiveLacks), text).nullish(),
    tries: row.nullish(),
    fault: z.string().max(100).nullish(),
    archive: z.strictObject({ key: name, sha256 }).nullable(),
  }),
  z.strictObject({
    ...{ type: z.literal('unchanged'), at: time, repository: name, message: text, counters },
  }),
  z.strictObject({
    ...{ type: z.literal('unread'), at: time, repository: name, source: text, reason: text },
    ...{ message: text, counters, totalRepos: row.optional() },
  }),
  z.strictObject({ type: z.literal('archive'), at: time, repository: name, key: name, sha256 }),
  z.strictObject({ type: z.literal('version'), at: time, repository: name, facts: version }),
  z.strictObject({
    ...{ type: z.literal('anomaly'), at: time, repository: name },
    ...{ version: row.min(1), anomaly },
  }),
  z.strictObject({
    ...{ type: z.literal('missing'), at: time, listed: row },
    names: z.array(name).max(1_000_000),
  }),
  z.strictObject({
    ...{ type: z.literal('coverage'), at: time },
    repositories: z.array(seenRepository).max(1_000_000),
  }),
  z.strictObject({
    ...{ type: z.literal('sources'), at: time },
    sources: z
      .array(z.strictObject({ repository: name, address: text, namedBy: text.nullish() }))
      .max(1_000_000),
  }),
  z.strictObject({
    ...{ type: z.literal('pruned'), at: time, repository: name },
    versions: z.array(row).max(1_000_000),
  }),
  z.strictObject({
    ...{ type: z.literal('stores'), at: time },
    repositories: z.array(name).max(1_000_000),
    stores: z.array(name).max(1_000),
    machine: name,
  }),
  z.strictObject({
    ...{ type: z.literal('stored'), at: time, repository: name, store: name, reason: text },
    version: row.nullable(),
    fault: z.enum(storingFaults).nullish(),
  }),
  z.strictObject({
    ...{ type: z.literal('seen'), at: time, repository: name, store: name },
    version: row.nullable(),
  }),
  z.strictObject({ type: z.literal('snapshot'), at: time, snapshot }),
  z.strictObject({ type: z.literal('total'), at: time, totalRepos: row }),
  z.strictObject({
    ...{ type: z.literal('end'), at: time, errorMessage: text, counters },
    status: z.enum(['completed', 'failed']),
    stoppedBy: z.string().max(20).nullable().default(null),
    fault: z.enum(runFaults).nullish(),
    metRequests: z.array(row).max(10_000),
  }),
]);

export type SpoolHeader = z.output<typeof spoolHeader>;
export type SpoolLine = z.output<typeof spoolLine>;

/** The end of a run, as it is spooled. */
export type SpooledEnding = Omit<Extract<SpoolLine, { type: 'end' }>, 'at'>;

/** An entry as JSON. Contains all refs of a version, because it is unknown which version the database has. */
export function formatEntry(entry: StoredEntry | SpooledEnding, at: string): string {
  if (entry.type !== 'version') return JSON.stringify({ ...entry, at });
  const { changes: _, previousManifestSha256: __, ...facts } = entry.facts;
  const refs = Object.fromEntries(facts.refs);
  return JSON.stringify({ ...entry, facts: { ...facts, refs }, at });
}
