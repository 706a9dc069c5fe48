import * as z from 'zod';
import { MAX_MOST_NEEDED, PROOF_DAYS } from '../../records/drills/states.ts';
import { MAX_WORST } from '../../records/overview.ts';
import { GRACE_IN_WORDS, MIN_GRACE_MINUTES } from '../../records/runs/grace.ts';
import {
  bytes,
  milliseconds,
  run,
  runStatus,
  snapshot,
  timestamp,
  trackedRepository,
} from './shapes.ts';

// Summaries of all runs and repositories: the overview, the dashboard's figures, and the metrics of runs.

const repositories = z.int().min(0).meta({ description: 'Repositories.' });

/** Counts of tracked repositories, in total and by state. */
const stateCounts = z
  .object({
    total: repositories,
    good: repositories,
    stale: repositories,
    failing: repositories,
    lost: repositories,
    never: repositories,
    gone: repositories.meta({ description: 'Their archive is missing, and no store has a copy.' }),
  })
  .meta({ id: 'StateCounts', description: 'How many repositories are in each state.' });

const neededProof = z
  .object({
    full_name: z.string(),
    state: z.enum(['failing', 'never', 'overdue', 'proven']).meta({
      description: 'The field of Proofs that counts it.',
    }),
    proven_at: timestamp.nullable().meta({ description: 'When it was last proven restorable.' }),
    storage: z.string().nullable().meta({
      description: 'Where the proving drill restored from, as in RestoreDrill.',
    }),
    failed_at: timestamp.nullable().meta({
      description:
        'When a drill failed, or since when its archive is missing; null if none has, or a later one proved it.',
    }),
  })
  .meta({ id: 'NeededProof', description: 'The proof state of a repository.' });

const proofs = z
  .object({
    proven: repositories.meta({
      description: `Proven restorable by a restore drill in the last ${PROOF_DAYS} days, without a failure since.`,
    }),
    overdue: repositories.meta({
      description: 'Proven longer ago than that, without a failure since.',
    }),
    never: repositories.meta({ description: 'Never proven, without a failure.' }),
    failing: repositories.meta({ description: 'A drill failed, and no later one proved it.' }),
    oldest_at: timestamp
      .nullable()
      .meta({ description: 'The oldest last proof of any repository.' }),
    most_needed: z.array(neededProof).meta({
      description: `Up to ${MAX_MOST_NEEDED} repositories that most need a proof: those with a failed drill first, then those never proven, then those with the oldest proof.`,
    }),
  })
  .meta({
    id: 'Proofs',
    description: 'How many repositories are proven restorable, each counted once.',
  });

const failedDrill = z
  .object({
    full_name: z.string(),
    at: timestamp.meta({ description: 'When the failed drill was started.' }),
    storage: z.string().meta({ description: 'Where the drill restored from, as in RestoreDrill.' }),
    version: z.int().nullable(),
    reason: z.string(),
  })
  .meta({
    id: 'FailedDrill',
    description: 'A failed restore drill, with no successful one since.',
  });

const offSite = z
  .object({
    stores: z.int().meta({ description: 'The stores in use.' }),
    repositories: z.int().meta({ description: 'Tracked repositories with versions.' }),
    current: z.int().meta({ description: 'Those whose newest version is in a store.' }),
    behind: z.int().meta({ description: 'Those of which the stores have only older versions.' }),
    missing: z.int().meta({ description: 'Those of which no store has anything.' }),
    failing: z.int().meta({
      description: 'Those that a store did not take last time, whatever other stores have.',
    }),
  })
  .meta({
    id: 'OffSiteCopies',
    description: 'How many repositories have a copy away from the machine of the worker.',
  });

export const overview = z
  .object({
    repositories: stateCounts,
    worst: z.array(trackedRepository).meta({
      description: `Up to ${MAX_WORST} repositories that are not good, in the order of order=worst.`,
    }),
    proofs,
    failed_drills: z.array(failedDrill).meta({
      description: `Up to ${MAX_WORST} of the repositories that proofs.failing counts, by name.`,
    }),
    off_site: offSite.nullable().meta({
      description:
        'Null if no store is in use: nothing was ever stored, or the stores are no longer in BACKUP_STORES.',
    }),
    current_archive_bytes: bytes.meta({
      description:
        'The size of all archives, one per repository: that of its newest completed backup. An archive that could not be pushed does not count until it is.',
    }),
    last_good_run: z
      .object({ id: z.int(), started_at: timestamp })
      .nullable()
      .meta({ description: 'The last completed run in which no repository failed.' }),
    last_finished_run: z
      .object({ id: z.int(), status: runStatus, is_stopped: run.shape.is_stopped })
      .nullable()
      .meta({ description: 'The newest run that is not under way.' }),
    running: run.nullable().meta({
      description: 'The run under way; its counters are updated after each repository.',
    }),
    next_run_expected_at: timestamp.nullable().meta({
      description:
        'When a run is due by the schedules of the server; without any, the start of the last run that was not stopped on purpose, plus usual_interval_ms. It is in the past if a run is overdue.',
    }),
    next_run_late_at: timestamp.nullable().meta({
      description: `From when on a run that has not started by then is late: next_run_expected_at plus ${GRACE_IN_WORDS} of usual_interval_ms (at least ${MIN_GRACE_MINUTES} minutes) if that is declared, or half of it if it is learned from runs.`,
    }),
    is_scheduled: z.boolean().meta({
      description: 'Whether a schedule decides next_run_expected_at.',
    }),
    runs_start_here: z.boolean().meta({
      description:
        'Whether this server starts runs itself, those of its schedules and those that are requested.',
    }),
    usual_interval_ms: milliseconds.nullable().meta({
      description:
        'BACKUP_EVERY of the server, otherwise the interval of its schedules, otherwise that of the `--every` of the worker, otherwise the median time between the starts of the last 20 finished runs, without those that were started by hand; null with fewer than 3, or if most are not about as far apart.',
    }),
    is_interval_declared: z.boolean().meta({
      description:
        "Whether usual_interval_ms is BACKUP_EVERY, or the interval of a schedule or of the worker's `--every`.",
    }),
    freshness_hours: z.int().meta({
      description: `A repository last good longer ago than this is stale. FRESHNESS_HOURS of the server, or usual_interval_ms plus ${GRACE_IN_WORDS} of it if that is longer. An interval learned from runs is rounded to a quarter of an hour, and counts for 806 hours at most.`,
    }),
    proof_days: z.int().meta({
      description: 'A proof by a restore drill counts for this many days.',
    }),
    incidents: z.object({ open: z.int(), unacknowledged: z.int() }).meta({
      description: 'Unresolved incidents, and how many of them nobody has acknowledged.',
    }),
  })
  .meta({ id: 'Overview' });

const totalLogs = z.int().meta({
  description: 'Exact below 10,000; above that, an estimate by the database.',
});

const sizesAndAnalytics = {
  total_size_bytes: bytes,
  largest_archive_bytes: bytes,
  largest_repository: z.string().meta({
    description: 'The repository with the largest archive ever recorded.',
  }),
  latest_analytics: snapshot.nullable(),
};

export const dashboardStats = z
  .object({
    total_runs: z.int(),
    total_repos: z.int().meta({ description: 'Repositories processed.' }),
    total_successful: z.int(),
    total_failed: z.int(),
    total_skipped: z.int(),
    distinct_repos: z.int(),
    repositories: stateCounts,
    total_logs: totalLogs,
    success_rate: z.number().min(0).max(100).meta({
      description: '100 × (1 − failed / total_repos); 0 if total_repos is 0.',
    }),
    last_run_status: z.enum([...runStatus.options, '']),
    last_run_at: timestamp.nullable(),
    avg_duration_ms: milliseconds,
    ...sizesAndAnalytics,
  })
  .meta({ id: 'DashboardStats' });

export const runMetrics = z
  .object({
    runs: z
      .array(
        run.pick({ id: true, status: true, started_at: true, is_stopped: true }).extend({
          total_repos: z.int(),
          successful: z.int(),
          failed: z.int(),
          skipped: z.int(),
          unread: z
            .int()
            .meta({ description: 'Sources that were never read, which are no repositories.' }),
          duration_ms: milliseconds,
        }),
      )
      .meta({ description: 'Oldest first.' }),
    total_runs: z.int(),
    avg_duration_ms: milliseconds,
    total_successful: z.int(),
    total_failed: z.int(),
    total_skipped: z.int(),
    distinct_repos: z.int(),
    total_logs: totalLogs,
    ...sizesAndAnalytics,
  })
  .meta({
    id: 'RunMetrics',
    description:
      'The runs of these days and their totals. distinct_repos, total_logs, the sizes and latest_analytics cover all time.',
  });
