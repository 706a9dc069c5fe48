import * as z from 'zod';
import { drillOutcomes } from '../../records/drills/new-drill.ts';
import { statementStates } from '../../records/drills/statements.ts';
import { MAX_ACTIVE } from '../../records/recording/progress.ts';
import {
  MAX_FAILURES_COUNTED,
  repositoryStates,
} from '../../records/repositories/repository-states.ts';
import { losses } from '../../records/repositories/would-lose.ts';
import { MAX_UNREAD } from '../../records/runs/runs.ts';

// The resources of the service API, with fields in response order. Postgres builds the responses; these schemas
// document them in /openapi.json, and tests validate every response against them.

/** A time as formatted by Postgres. */
export const timestamp = z.iso.datetime({ precision: 6 }).meta({
  description: 'ISO 8601 in UTC, with microseconds.',
  example: '2026-01-31T08:15:00.123456Z',
});
export const bytes = z.int().meta({ description: 'Bytes.' });
/** A duration. */
export const milliseconds = z.int().meta({ description: 'Milliseconds.' });

export const pagination = z
  .object({
    page: z.int(),
    limit: z.int(),
    total_items: z.int(),
    total_pages: z.int().meta({ description: 'total_items / limit, rounded up.' }),
  })
  .meta({ id: 'Pagination' });

/** What the worker is doing while a run is under way. Keys are in the order of jsonb. */
const progress = z.object({
  bytes: bytes.meta({ description: 'Received so far by the whole run.' }),
  active: z
    .array(
      z.object({
        bytes: bytes.nullable().meta({ description: 'Received so far; null if unknown.' }),
        phase: z
          .string()
          .meta({ description: 'The phase as git names it.', example: 'Receiving objects' }),
        percent: z
          .int()
          .min(0)
          .max(100)
          .nullable()
          .meta({ description: 'Progress of the phase; null if unknown.' }),
        repository: z.string(),
      }),
    )
    .max(MAX_ACTIVE)
    .meta({ description: 'The repositories that are being backed up.' }),
});

/** The status of a run. */
export const runStatus = z.enum(['completed', 'failed', 'running']);

export const run = z
  .object({
    id: z.int(),
    started_at: timestamp,
    completed_at: timestamp.nullable(),
    status: runStatus,
    duration_ms: milliseconds,
    total_repos: z
      .int()
      .meta({ description: 'Repositories, without the sources that were never read.' }),
    successful: z.int(),
    failed: z.int(),
    skipped: z.int().meta({ description: 'Repositories with no changes.' }),
    unread_sources: z
      .array(z.object({ source: z.string(), reason: z.string() }))
      .max(MAX_UNREAD)
      .meta({
        description:
          'Sources that the run was given and that were never read, such as a mistyped path: they are no repositories, and not counted above.',
      }),
    error_message: z.string().meta({ description: 'Empty when there is none.' }),
    is_stopped: z.boolean().meta({
      description:
        'Whether it failed only because someone stopped it: on the page, with Ctrl-C or SIGTERM.',
    }),
    heartbeat_at: timestamp.nullable().meta({
      description: 'The last heartbeat of the worker; null if it sent none.',
    }),
    progress: progress.nullable().meta({
      description:
        'What the worker is doing. Null if it does not report this, and after the run has ended.',
    }),
  })
  .meta({ id: 'BackupRun' });

export const fix = z
  .object({
    id: z.int(),
    title: z.string(),
    commit_hash: z.string(),
    author: z.string(),
    affected_runs: z.array(z.int()),
  })
  .meta({ id: 'BackupFix' });

export const latestRun = z
  .object({ ...run.shape, fixes: z.array(fix) })
  .meta({ id: 'LatestBackupRun', description: 'A backup run with the fixes linked to it.' });

export const result = z
  .object({
    id: z.int(),
    run_id: z.int(),
    repo_full_name: z.string().meta({ example: 'owner/repo' }),
    status: z.enum(['completed', 'failed', 'empty', 'too_large', 'success']).meta({
      description:
        'empty: no branches or tags to archive. too_large: above the 100 MiB git file limit. success: the same as completed, in older rows.',
    }),
    created_at: timestamp,
    duration_ms: milliseconds,
    commit_hash: z.string().meta({ description: 'Empty when there is none.' }),
    archive_size_bytes: bytes,
    error_message: z.string().meta({ description: 'Empty when there is none.' }),
    incomplete: z.string().nullable().meta({
      description: 'What is missing from a good archive, such as LFS objects; null if nothing is.',
      example: 'LFS: 12 pointers, 3.4 GB are not in the archive',
    }),
    tries: z.int().nullable().meta({
      description: 'How many times the worker tried; null if unknown.',
    }),
  })
  .meta({ id: 'BackupResult' });

export const snapshot = z
  .object({
    id: z.int(),
    run_id: z.int().nullable(),
    captured_at: timestamp,
    head_commit: z.string(),
    head_commit_message: z.string(),
    head_commit_at: timestamp.nullable(),
    total_commits: z.int(),
    branch_count: z.int(),
    tag_count: z.int(),
    tracked_files: z.int(),
    total_blob_size_bytes: bytes,
    avg_blob_size_bytes: bytes,
    largest_blob_path: z.string(),
    largest_blob_size_bytes: bytes,
    archive_count: z.int(),
    total_archive_size_bytes: bytes,
    avg_archive_size_bytes: bytes,
    largest_archive_path: z.string(),
    largest_archive_size_bytes: bytes,
  })
  .meta({ id: 'RepoAnalyticsSnapshot' });

export const log = z
  .object({
    id: z.int(),
    created_at: timestamp,
    level: z
      .string()
      .meta({ description: 'info, warn, error or debug; older rows may be upper case.' }),
    message: z.string(),
    repository: z.string().nullable().meta({ description: 'Null or empty when there is none.' }),
    run_id: z.int().nullable(),
  })
  .meta({ id: 'ExecutionLog' });

const storage = z.string().meta({
  description:
    'Where it was restored from: `folder` for the archive folder, otherwise the address of a store without parameters.',
  example: 's3://backups/git',
});
const drilledVersion = z.int().nullable().meta({
  description: 'Null if unknown, and for an archive of an earlier release.',
});
const reason = z
  .string()
  .nullable()
  .meta({ description: 'Why it is not proven, at most 1,000 characters; null if it is.' });
const outcome = z.enum(drillOutcomes).meta({
  description:
    'proven: restored and found complete. failed: it cannot be restored. incomplete: the drill could not finish, for lack of time, disk space, network or an identity.',
});

const lastProof = z.object({ at: timestamp, storage, version: drilledVersion });
const lastDrill = z.object({ at: timestamp, outcome, storage, version: drilledVersion, reason });

/** Whether an archive is in the archive folder. */
const archiveStates = ['there', 'incomplete', 'missing', 'unknown', 'none'] as const;

/** One row of the restore drill ledger. */
export const restoreDrill = z
  .object({
    id: z.int(),
    repository: z.string(),
    version: drilledVersion,
    storage,
    started_at: timestamp,
    duration_ms: milliseconds,
    bytes: bytes.meta({ description: 'The size of the files that the version needs.' }),
    outcome,
    reason,
    evidence: z.looseObject({}).meta({
      description:
        'The findings: digests, counts and versions, without the lists `archive_files` and `ref_list`, which the signed statement has. See docs/restore-drills.md.',
    }),
    previous_sha256: z.string().meta({ description: 'The hash of the row before it.' }),
    sha256: z.string().meta({ description: 'The hash of this row.' }),
    statement: z.enum(statementStates).meta({
      description:
        'signed: GET /api/drills/{id}/statement has it. pending: it is about to be signed. before_key: recorded before there was a signing key. no_key: there is none yet. altered: the row was changed, so it was not signed.',
    }),
  })
  .meta({ id: 'RestoreDrill' });

export const trackedRepository = z
  .object({
    full_name: z.string(),
    last_status: result.shape.status,
    last_commit_hash: z.string(),
    archive_size_bytes: bytes,
    last_backed_up: timestamp.meta({ description: 'The time of the newest result.' }),
    state: z.enum(repositoryStates).meta({
      description:
        'good: backed up. stale: not failing, but last good longer ago than freshness_hours of the overview. failing: the newest result is a failure, with nothing good since. lost: the same, because it no longer exists at its source, is hidden from the login, or is now empty. never: it was never good. gone: its archive, or a file of it, is missing, and no store has a copy.',
    }),
    last_good_at: timestamp.nullable().meta({
      description:
        'When it was last known to be backed up: the last completed or empty result, or when a run last found it unchanged. Null if never.',
    }),
    last_good_age_ms: milliseconds.nullable().meta({
      description: 'How long ago last_good_at was. Null if never.',
    }),
    last_good_version: z.int().nullable().meta({
      description:
        'The newest version that can be restored: from the archive folder, or from a store if the archive is missing. Null if there is none.',
    }),
    last_checked_at: timestamp.meta({
      description: 'When a run last processed it, whatever the outcome.',
    }),
    failing_since: timestamp.nullable().meta({
      description:
        'The first failure after last_good_at. Null unless it is failing, lost or never.',
    }),
    consecutive_failures: z
      .int()
      .min(0)
      .max(MAX_FAILURES_COUNTED)
      .meta({
        description: `Failures after last_good_at, counted up to ${MAX_FAILURES_COUNTED}.`,
      }),
    error_message: z.string().meta({
      description:
        'Why the newest result is a failure, at most 1,000 characters. Empty unless it is failing, lost or never.',
    }),
    fault: z.string().nullable().meta({
      description:
        'The kind of the newest failure, such as login, missing, emptied, network or disk. Null unless it is failing, lost or never, and if the worker did not record it.',
      example: 'login',
    }),
    source: z.string().nullable().meta({
      description:
        'The path or URL where it was last read, without credentials, at most 1,000 characters. Null if no run has recorded it.',
      example: 'https://github.com/acme/app.git',
    }),
    last_proof: lastProof.nullable().meta({
      description: 'The last restore drill that proved it restorable. Null if none did.',
    }),
    last_drill: lastDrill.nullable().meta({
      description:
        'The outcome of its last restore drill. A failure stays until a later drill proves it. Null if there was none.',
    }),
    archive: z
      .object({
        state: z.enum(archiveStates).meta({
          description:
            'there: a run found all files that the newest version needs. incomplete: an increment or a manifest is missing, and the other files are kept. missing: the archive is not in the archive folder. unknown: an archive is recorded, but no run has looked for it. none: no archive is recorded.',
        }),
        seen_at: timestamp.nullable().meta({ description: 'When a run last found all files.' }),
        missing_since: timestamp.nullable(),
        copies: z.int().meta({ description: 'How many stores have a copy.' }),
      })
      .meta({ description: 'Whether its archive is still there. Each run looks.' }),
  })
  .meta({
    id: 'TrackedRepository',
    description: 'A repository: its newest result, and how up to date its backup is.',
  });

/** GET /api/repos/:owner/:name. */
export const repositoryDetails = z
  .object({
    ...trackedRepository.shape,
    would_lose: z
      .array(
        z.object({
          what: z.enum(losses).meta({
            description:
              'everything: it has no backup. lfs: files for which the archive has only pointers. submodules: repositories of which it has only commit ids. issues, wiki, discussions: the git host has them, but no archive holds them. releases: there are tags, so the git host may have notes and files of releases, which no archive holds. only_here: versions that are neither in a store of BACKUP_STORES nor pushed.',
          }),
          detail: z.string().meta({
            description:
              'lfs, submodules: how many. issues: how many are open. only_here: the newest version.',
          }),
        }),
      )
      .meta({ description: 'What would be lost with the source, as far as the worker knows.' }),
    forgotten: z.object({ at: timestamp, by: z.string() }).nullable().meta({
      description:
        'When and by whom it was forgotten; it is not tracked until a run records something about it. Null if it is tracked.',
    }),
  })
  .meta({ id: 'RepositoryDetails' });

/** The schema of one page of a list. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), pagination: pagination });
}
