import * as z from 'zod';
import { restFields } from './answer-budget.ts';

// What tools answer, field by field. Looser than the service
// API's schemas: a status or a time that another writer stored in its own way must not fail a tool.

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
});

export const pagination = z.object({
  page: integer,
  limit: integer,
  total_items: integer,
  total_pages: integer,
});

/** One page of a list, as the service API answers it. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination, ...restFields });
}

/** The figures of get_dashboard_summary; success_rate is 0 to 100 here, a text in the answer. */
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
});

/** Figures of a window; the counts of a day are of repositories, `runs` of runs. */
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

/** Someone's record of how a failure was dealt with. */
export const incident = z.object({ run_id: integer.nullable(), resolution: text });

/** What is known of a run and of what failed in it, before errors are grouped. */
export const failureFacts = z.object({
  run_id: integer,
  run_status: text,
  /** When the run ended, or began where it has not ended. */
  ended_at: text.nullable(),
  run_error: text,
  /** As the run counts them, whatever results it has. */
  failed_count: integer,
  failed_repos_count: integer,
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
