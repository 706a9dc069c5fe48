import * as z from 'zod';
import { restFields } from './answer-budget.ts';

// The fields of tools' answers. Looser than the schemas of the service API, because a status or a time that
// another program stored in its own format must not make a tool fail.

const integer = z.number();
const text = z.string();

export const run = z.object({
  id: integer,
  started_at: text,
  completed_at: text.nullable(),
  status: text,
  duration_ms: integer,
  total_repos: integer,
  successful: integer,
  failed: integer,
  skipped: integer,
  // A service API of an earlier release lacks it.
  unread_sources: z.array(z.object({ source: text, reason: text })).optional(),
  error_message: text,
});

export const result = z.object({
  id: integer,
  run_id: integer,
  repo_full_name: text,
  status: text,
  created_at: text,
  duration_ms: integer,
  commit_hash: text,
  archive_size_bytes: integer,
  error_message: text,
});

export const fixOfRun = z.object({
  id: integer,
  title: text,
  commit_hash: text,
  author: text,
  affected_runs: z.array(integer),
});

export const latestRun = run.extend({ fixes: z.array(fixOfRun) });

export const log = z.object({
  id: integer,
  created_at: text,
  level: text,
  message: text,
  repository: text.nullable(),
  run_id: integer.nullable(),
});

export const trackedRepository = z.object({
  full_name: text,
  last_status: text,
  last_commit_hash: text,
  archive_size_bytes: integer,
  last_backed_up: text,
  // A service API of an earlier release lacks these.
  state: text.optional(),
  last_good_at: text.nullable().optional(),
  last_good_age_ms: integer.nullable().optional(),
  last_good_version: integer.nullable().optional(),
  last_checked_at: text.optional(),
  failing_since: text.nullable().optional(),
  consecutive_failures: integer.optional(),
  error_message: text.optional(),
  fault: text.nullable().optional(),
  source: text.nullable().optional(),
  last_proof: z
    .object({ at: text, storage: text, version: integer.nullable() })
    .nullable()
    .optional(),
});

/** How many repositories a restore drill has proven restorable, and which need a proof most. */
export const restoreProofs = z.object({
  proven: integer,
  overdue: integer,
  never: integer,
  failing: integer,
  oldest_at: text.nullable(),
  most_needed: z.array(
    z.object({
      full_name: text,
      state: text,
      proven_at: text.nullable(),
      storage: text.nullable(),
      failed_at: text.nullable(),
    }),
  ),
});

/** The tracked repositories, in total and in each state. */
export const stateCounts = z.object({
  total: integer,
  good: integer,
  stale: integer,
  failing: integer,
  lost: integer,
  never: integer,
  gone: integer.optional(),
});

export const pagination = z.object({
  page: integer,
  limit: integer,
  total_items: integer,
  total_pages: integer,
});

/** One page of a list, in the format of the service API. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination, ...restFields });
}

/** The figures of get_dashboard_summary. success_rate is a number from 0 to 100; in the answer it is text. */
export const dashboardSummary = z.object({
  total_runs: integer,
  total_repos: integer,
  total_successful: integer,
  total_failed: integer,
  success_rate: integer,
  last_run_status: text,
  last_run_at: text.nullable(),
  total_size_bytes: integer,
  largest_repository: text,
  // A service API of an earlier release lacks it.
  repositories: stateCounts.optional(),
});

/** Figures of a time window. Per day, `runs` counts runs; the other counts are of repositories. */
export const metricsHistory = z.object({
  average_run_duration_ms: integer,
  aggregated_success_rate: integer,
  history: z.array(
    z.object({
      date: text,
      runs: integer,
      successful: integer,
      failed: integer,
      avg_duration_ms: integer,
    }),
  ),
});

/** A record of how a failure was fixed. */
export const incident = z.object({ run_id: integer.nullable(), resolution: text });

/** A run and its failures, before they are grouped by error. */
export const failureFacts = z.object({
  run_id: integer,
  run_status: text,
  /** When the run ended, or when it started if it has not ended. */
  ended_at: text.nullable(),
  run_error: text,
  /** The count stored with the run, whatever results are recorded. */
  failed_count: integer,
  failed_repos_count: integer,
  /** Sources that were never read. A service API of an earlier release lacks it. */
  unread_sources: z.array(text).optional(),
  failures: z.array(
    z.object({
      repository: text,
      status: text,
      error_message: text,
      last_successful_commit: text.nullable(),
      recovered: z.boolean(),
    }),
  ),
  recent_fixes: z.array(incident),
  note: text.optional(),
});

/** A row of backup_run_requests. */
export const runRequest = z.object({
  request_id: integer,
  status: text,
  target_repo: text.nullable(),
  requested_by: text,
  reason: text,
  created_at: text,
  already_queued: z.boolean(),
});

/** A stored fix. */
export const recordedFix = z.object({
  id: integer,
  title: text,
  description: text,
  author: text,
  commit_hash: text,
  affected_run_id: integer.nullable(),
  created_at: text,
});

// Archives.

const archive = {
  repository: z.string(),
  /** File name. */
  archive: z.string(),
};
const format = z.enum(['bundle', 'tar.gz']);

/** The checks of an archive and their results. */
export const archiveVerification = z.object({
  ...archive,
  format,
  resolved_by: z.string(),
  archive_size_bytes: z.number(),
  sha256_checksum: z.string(),
  expected_sha256: z.string().nullable(),
  /** `database` or `note` (the file beside the archive); null when no SHA-256 is recorded. */
  expected_by: z.string().nullable(),
  /** More than one if bundles continue it; all were checked. */
  files: z.number(),
  refs: z.array(z.object({ name: z.string(), commit: z.string() })),
  ref_count: z.number(),
  ...restFields,
  pack_verified: z.boolean(),
  integrity_status: z.string(),
  proof: z.object({
    checksum: z.string(),
    header: z.string(),
    pack_checksum: z.string(),
    objects: z.string(),
    history: z.string(),
  }),
  /** How the note beside the archive differs from the record in the database. */
  remark: z.string().optional(),
  /** What the archive lacks of the repository, such as files in Git LFS. */
  incomplete: z.string().optional(),
});

/** The entries of an archive. */
export const archiveListing = z.object({
  ...archive,
  format,
  entries: z.array(
    z.object({ path: z.string(), size: z.number(), mode: z.string(), type: z.string() }),
  ),
  returned: z.number(),
  ...restFields,
  truncated: z.boolean(),
});

/** Part of one file of an archive. The content comes last, because answers are cut at the end. */
export const extractedFile = z.object({
  ...archive,
  path: z.string(),
  /** Only when secrets were removed: how many, and a notice that the content differs from the file. */
  redacted: z.number().optional(),
  notice: z.string().optional(),
  size: z.number(),
  encoding: z.enum(['utf-8', 'base64']),
  bytes: z.object({ offset: z.number(), length: z.number(), total: z.number() }),
  /** Null for a file that is not text. */
  lines: z.object({ start: z.number(), end: z.number(), total: z.number() }).nullable(),
  ...restFields,
  truncated: z.boolean(),
  content: z.string(),
});

/** The open incidents; null if unknown. */
export const openIncidents = z
  .array(
    z.object({
      id: z.number(),
      rule: z.string(),
      subject: z.string(),
      severity: z.string(),
      summary: z.string(),
      advice: z.string().nullable(),
      opened_at: z.string(),
      acknowledged: z.boolean(),
      repository_count: z.number(),
      repositories: z.array(z.string()),
    }),
  )
  .nullable();
