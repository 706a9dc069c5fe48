import * as z from 'zod';
import { MAX_MOST_NEEDED, PROOF_DAYS } from '../records/drills/states.ts';
import { MAX_WORST } from '../records/overview.ts';
import {
  bytes,
  milliseconds,
  run,
  runStatus,
  snapshot,
  timestamp,
  trackedRepository,
} from './shapes.ts';

// What sums up all runs and repositories: the overview, the dashboard's figures, and the metrics of runs.

const repositories = z.int().min(0).meta({ description: 'Repositories.' });

/** The tracked repositories, in total and in each state. */
const stateCounts = z
  .object({
    total: repositories,
    good: repositories,
    stale: repositories,
    failing: repositories,
    lost: repositories,
    never: repositories,
  })
  .meta({ id: 'StateCounts', description: 'How many repositories are in each state.' });

const neededProof = z
  .object({
    full_name: z.string(),
    state: z.enum(['failing', 'never', 'overdue', 'proven']).meta({
      description: 'As they are counted in Proofs.',
    }),
    proven_at: timestamp.nullable().meta({ description: 'When it was last proven restorable.' }),
    storage: z.string().nullable().meta({
      description: 'Where that drill restored from, as in RestoreDrill.',
    }),
    failed_at: timestamp.nullable().meta({
      description: 'When the drill failed; null if none has, or one has proven it since.',
    }),
  })
  .meta({ id: 'NeededProof', description: 'How a repository stands with restore drills.' });

const proofs = z
  .object({
    proven: repositories.meta({
      description: `Proven restorable by a restore drill in the last ${PROOF_DAYS} days, and none failed since.`,
    }),
    overdue: repositories.meta({
      description: 'Proven longer ago than that, and none failed since.',
    }),
    never: repositories.meta({ description: 'Never proven, and none failed.' }),
    failing: repositories.meta({ description: 'A drill failed, and none has proven it since.' }),
    oldest_at: timestamp.nullable().meta({ description: 'The oldest of the last proofs.' }),
    most_needed: z.array(neededProof).meta({
      description: `Up to ${MAX_MOST_NEEDED} repositories that need a proof most: those of which a drill failed first, then those never proven, then those whose proof is oldest.`,
    }),
  })
  .meta({
    id: 'Proofs',
    description: 'How many repositories are proven restorable; each counts once.',
  });

const failedDrill = z
  .object({
    full_name: z.string(),
    at: timestamp.meta({ description: 'When the drill that failed was started.' }),
    storage: z.string().meta({ description: 'Where it restored from, as in RestoreDrill.' }),
    version: z.int().nullable(),
    reason: z.string(),
  })
  .meta({ id: 'FailedDrill', description: 'A restore drill that failed; none succeeded since.' });

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
    current_archive_bytes: bytes.meta({
      description:
        'The archives of all repositories: of each, that of its newest completed backup. One that could not be pushed does not count until it is.',
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
      description: 'The run under way; its counters change after each repository.',
    }),
    next_run_expected_at: timestamp.nullable().meta({
      description:
        'The start of the last run that was not stopped on purpose, plus usual_interval_ms. In the past if a run is overdue.',
    }),
    usual_interval_ms: milliseconds.nullable().meta({
      description:
        'BACKUP_EVERY of the server, else the median time between the starts of the last 20 finished runs; null with fewer than 3.',
    }),
    is_interval_declared: z.boolean().meta({
      description: 'Whether usual_interval_ms is BACKUP_EVERY.',
    }),
    freshness_hours: z.int().meta({
      description:
        'A repository that was last good longer ago is stale: FRESHNESS_HOURS of the server, or usual_interval_ms and a twelfth of it, if that is longer. A learnt time is rounded to a quarter of an hour, and means 806 hours at most.',
    }),
    incidents: z.object({ open: z.int(), unacknowledged: z.int() }).meta({
      description: 'Incidents that are not resolved, and how many of them nobody has acknowledged.',
    }),
  })
  .meta({ id: 'Overview' });

const totalLogs = z.int().meta({
  description: 'Exact below 10,000; above that, an estimate of the database.',
});

const sizesAndAnalytics = {
  total_size_bytes: bytes,
  largest_archive_bytes: bytes,
  largest_repository: z.string().meta({
    description: 'Repository of the largest archive ever recorded.',
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
      'The runs of these days and their totals; distinct_repos, total_logs, the sizes and latest_analytics cover all time.',
  });
