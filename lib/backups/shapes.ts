import { z } from 'zod';

// The resources of specification 1, field by field and in its order. Postgres builds the answers; these
// schemas describe them in /openapi.json, and the tests hold every answer against them.

const timestamp = z.iso.datetime({ precision: 6 }).meta({
  description: 'ISO 8601 in UTC, with microseconds.',
  example: '2026-01-31T08:15:00.123456Z',
});
const integer = z.int();
const text = z.string();
const bytes = integer.meta({ description: 'Bytes.' });
const milliseconds = integer.meta({ description: 'Milliseconds.' });

export const pagination = z
  .object({
    page: integer,
    limit: integer,
    total_items: integer,
    total_pages: integer.meta({ description: 'total_items / limit, rounded up.' }),
  })
  .meta({ id: 'Pagination' });

const runStatus = z.enum(['completed', 'failed', 'running']);

export const run = z
  .object({
    id: integer,
    started_at: timestamp,
    completed_at: timestamp.nullable(),
    status: runStatus,
    duration_ms: milliseconds,
    total_repos: integer,
    successful: integer,
    failed: integer,
    skipped: integer.meta({ description: 'Repositories with no changes.' }),
    error_message: text.meta({ description: 'Empty when there is none.' }),
  })
  .meta({ id: 'BackupRun' });

export const fix = z
  .object({
    id: integer,
    title: text,
    commit_hash: text,
    author: text,
    affected_runs: z.array(integer),
  })
  .meta({ id: 'BackupFix' });

export const latestRun = z
  .object({ ...run.shape, fixes: z.array(fix) })
  .meta({ id: 'LatestBackupRun', description: 'A backup run with the fixes linked to it.' });

export const result = z
  .object({
    id: integer,
    run_id: integer,
    repo_full_name: text.meta({ example: 'owner/repo' }),
    status: z.enum(['completed', 'failed', 'empty', 'too_large', 'success']).meta({
      description:
        'empty: no branches or tags to archive. too_large: above the 100 MiB git file limit. success: older rows, the same as completed.',
    }),
    created_at: timestamp,
    duration_ms: milliseconds,
    commit_hash: text.meta({ description: 'Empty when there is none.' }),
    archive_size_bytes: bytes,
    error_message: text.meta({ description: 'Empty when there is none.' }),
  })
  .meta({ id: 'BackupResult' });

export const snapshot = z
  .object({
    id: integer,
    run_id: integer.nullable(),
    captured_at: timestamp,
    head_commit: text,
    head_commit_message: text,
    head_commit_at: timestamp.nullable(),
    total_commits: integer,
    branch_count: integer,
    tag_count: integer,
    tracked_files: integer,
    total_blob_size_bytes: bytes,
    avg_blob_size_bytes: bytes,
    largest_blob_path: text,
    largest_blob_size_bytes: bytes,
    archive_count: integer,
    total_archive_size_bytes: bytes,
    avg_archive_size_bytes: bytes,
    largest_archive_path: text,
    largest_archive_size_bytes: bytes,
  })
  .meta({ id: 'RepoAnalyticsSnapshot' });

export const log = z
  .object({
    id: integer,
    created_at: timestamp,
    level: text.meta({ description: 'info, warn, error or debug; older rows may be upper case.' }),
    message: text,
    repository: text.nullable().meta({ description: 'Null or empty when there is none.' }),
    run_id: integer.nullable(),
  })
  .meta({ id: 'ExecutionLog' });

export const trackedRepository = z
  .object({
    full_name: text,
    last_status: result.shape.status,
    last_commit_hash: text,
    archive_size_bytes: bytes,
    last_backed_up: timestamp,
  })
  .meta({ id: 'TrackedRepository', description: 'The newest result of a repository.' });

const totalLogs = integer.meta({
  description: "Exact below 10,000; above that the database planner's estimate.",
});

const sizesAndAnalytics = {
  total_size_bytes: bytes,
  largest_archive_bytes: bytes,
  largest_repository: text.meta({
    description: 'Repository of the largest archive ever recorded.',
  }),
  latest_analytics: snapshot.nullable(),
};

export const dashboardStats = z
  .object({
    total_runs: integer,
    total_repos: integer.meta({ description: 'Repositories processed.' }),
    total_successful: integer,
    total_failed: integer,
    total_skipped: integer,
    distinct_repos: integer,
    total_logs: totalLogs,
    success_rate: z.number().min(0).max(100).meta({
      description: '100 × (1 − failed / total_repos); 0 when there is nothing to divide.',
    }),
    last_run_status: z.enum([...runStatus.options, '']),
    last_run_at: timestamp.nullable(),
    avg_duration_ms: milliseconds,
    ...sizesAndAnalytics,
  })
  .meta({ id: 'DashboardStats' });

export const runMetrics = z
  .object({
    runs: z.array(
      run.pick({ id: true, status: true, started_at: true }).extend({
        total_repos: integer,
        successful: integer,
        failed: integer,
        skipped: integer,
        duration_ms: milliseconds,
      }),
    ),
    total_runs: integer,
    avg_duration_ms: milliseconds,
    total_successful: integer,
    total_failed: integer,
    total_skipped: integer,
    distinct_repos: integer,
    total_logs: totalLogs,
    ...sizesAndAnalytics,
  })
  .meta({
    id: 'RunMetrics',
    description:
      'The runs of the window and their totals; distinct_repos, total_logs, the sizes and latest_analytics are of all time.',
  });

/** A page of a list, as every list answers it. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination });
}
