import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { listAnomalies } from '../../lib/records/anomalies/list.ts';
import {
  listSnapshots,
  readLatestSnapshot,
  readSnapshotOfRun,
} from '../../lib/records/base/snapshots.ts';
import { readCoverage } from '../../lib/records/coverage/read.ts';
import { readDashboardStats } from '../../lib/records/dashboard-stats.ts';
import { listLogs } from '../../lib/records/logs/list.ts';
import { pollLogs, readLogEnd, replayLogs } from '../../lib/records/logs/live.ts';
import { readOverview } from '../../lib/records/overview.ts';
import { readIncidentMetrics } from '../../lib/records/prometheus/incidents.ts';
import { readRepositoryMetrics } from '../../lib/records/prometheus/repositories.ts';
import { readMetricsOfRuns } from '../../lib/records/prometheus/runs.ts';
import { readLastDurations } from '../../lib/records/recording/durations.ts';
import { listTracked } from '../../lib/records/recording/repo-state.ts';
import { listRepositoryHistory } from '../../lib/records/repositories/history.ts';
import { listRepositories, readRepository } from '../../lib/records/repositories/list.ts';
import { listVersions, readVersionRefs } from '../../lib/records/repositories/versions.ts';
import { readRunMetrics } from '../../lib/records/runs/run-metrics.ts';
import { listRuns, readLatestRun, readRun } from '../../lib/records/runs/runs.ts';
import { sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { sql } from '../support/records.ts';

// How the planner of a real Postgres runs the statements over filled and analysed tables. A scan of a whole large table
// shows up here instead of in production.

/** The failed drills and, for each of the 200 repositories, the last failed drill and the proofs after it. */
const FAILED_DRILLS = 571 + 200 * (1 + 3);

/**
 * Rows for each repository: its last drill, its last proof and the drill that decides its state; of up to 3 failed
 * drills, the last one; and up to 6 proofs after it.
 */
const DRILLS_OF_EACH = 3 + 3 + 1 + 6;

const database = useDatabase();

beforeAll(async () => {
  await sql(
    database.db,
    `INSERT INTO backup_runs (status, started_at, total_repos, successful)
     SELECT CASE WHEN n > 1998 THEN 'running' ELSE 'completed' END,
       date_trunc('hour', now()) - (2000 - n) * interval '1 hour', 25, 25 FROM generate_series(1, 2000) AS n`,
  );
  await sql(
    database.db,
    // Repository 7 has been failing for long, 8 was never good, and 9 has been failing since its last result.
    `INSERT INTO backup_results (run_id, repo_full_name, status, archive_size_bytes, created_at)
     SELECT 1 + n / 25, 'owner/repo-' || n % 250,
       CASE WHEN n % 250 = 7 AND n > 9999 OR n % 250 = 8 OR n = 49759 THEN 'failed' ELSE 'completed' END, n,
       date_trunc('hour', now()) - (50000 - n) * interval '1 minute'
     FROM generate_series(0, 49999) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO worker_repo_state (repo_full_name, checked_at)
     SELECT 'Owner/Repo-' || n, now() - interval '40 days' FROM generate_series(0, 249) AS n WHERE n <> 8`,
  );
  await sql(
    database.db,
    `INSERT INTO execution_logs (run_id, level, message, created_at)
     SELECT 1 + n / 100, (ARRAY['info', 'info', 'warn', 'ERROR'])[1 + n % 4], 'message ' || n,
       date_trunc('hour', now()) - (100000 - n) * interval '30 seconds' FROM generate_series(0, 99999) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO analytics_snapshots (run_id, captured_at)
     SELECT n, date_trunc('hour', now()) - (20000 - n) * interval '1 hour' FROM generate_series(1, 20000) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO archive_versions (repo_full_name, version, created_at)
     SELECT 'owner/repo-' || n % 250, 1 + n / 250, now() - (10000 - n) * interval '1 minute'
     FROM generate_series(0, 9999) AS n`,
  );
  // Repository 7 has 20,000 refs, of which every second changed in version 20.
  await sql(
    database.db,
    `INSERT INTO archive_refs (repo_full_name, name, object_id, from_version, to_version)
     SELECT 'owner/repo-7', 'refs/pull/' || lpad(n::text, 5, '0'), md5(n::text), 1,
       CASE n % 2 WHEN 0 THEN 20 END FROM generate_series(0, 19999) AS n
     UNION ALL SELECT 'owner/repo-7', 'refs/pull/' || lpad(n::text, 5, '0'), md5(n::text), 20, NULL
     FROM generate_series(0, 19998, 2) AS n
     UNION ALL SELECT 'owner/repo-' || n % 250, 'refs/heads/' || n, md5(n::text), 1, NULL
     FROM generate_series(0, 29999) AS n WHERE n % 250 <> 7
     UNION ALL SELECT 'owner/repo-9', 'refs/tags/' || n, md5(n::text), 1, NULL
     FROM generate_series(1, 10000) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO anomalies (repo_full_name, run_id, version, kind, seen_at, confirmed_at)
     SELECT 'owner/repo-' || n % 250, 1 + n / 25, 1 + n / 250, 'branches_rewritten', now() - (10000 - n) * interval '1 minute',
       CASE WHEN n % 100 > 0 THEN now() END
     FROM generate_series(0, 9999) AS n`,
  );
  // Most repositories have no result of a run.
  await sql(
    database.db,
    `INSERT INTO coverage (name, run_id, plan)
     SELECT 'Owner/repo-' || n, 2000, CASE WHEN n % 50 = 0 THEN 'excluded' ELSE 'taken' END
     FROM generate_series(0, 9999) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, reason, evidence)
     SELECT 'owner/repo-' || n % 200, 'folder', now() - (4000 - n) * interval '1 hour', 1, 1,
       CASE n % 7 WHEN 0 THEN 'failed' ELSE 'proven' END, CASE n % 7 WHEN 0 THEN 'it is damaged' END, '{}'
     FROM generate_series(1, 4000) AS n`,
  );
  await sql(
    database.db,
    `WITH incident AS (
       INSERT INTO incidents (rule, subject, resolved_at)
       SELECT 'destination_unreachable', n, CASE WHEN n > 3 THEN now() END FROM generate_series(1, 2000) AS n RETURNING id
     )
     INSERT INTO incident_repositories (incident_id, repository_name)
     SELECT id, 'owner/repo-' || n FROM incident, generate_series(1, 10) AS n`,
  );
  await sql(database.db, 'VACUUM ANALYZE');
});

const page = { page: 1, limit: 50 };
const lastPage = { page: 4_000, limit: 50 };
const figures = {
  newest_results: 250,
  backup_results: 1,
  execution_logs: 10_000,
  analytics_snapshots: 1,
};
const gap = { first: 100n, last: 140n };
const states = { now: '2100-01-01', freshnessHours: 26, scheduleMs: null };
/** The last finished runs, and those under way, which are skipped. */
const schedule = { backup_runs: 22 };
/** The newest result of each repository. */
const versionsOfPage = { archive_versions: 50 };
const filters = { level: 'info', runId: 700 };

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_name, generic) => {
  const reads: [string, (db: Database) => Promise<unknown>, Record<string, number>][] = [
    ['runs', (db) => listRuns(db, page), { backup_runs: 2_050 }],
    [
      'runs, the longest first',
      (db) => listRuns(db, page, { order: 'longest' }),
      { backup_runs: 2_050 },
    ],
    [
      'runs, those with the fewest failures first',
      (db) => listRuns(db, page, { order: 'failures', isReverse: true }),
      { backup_runs: 2_050 },
    ],
    ['the latest run', readLatestRun, { backup_runs: 1 }],
    ['a run', (db) => readRun(db, 700), { backup_runs: 1, backup_results: 25 }],
    [
      'repositories with their states',
      (db) => listRepositories(db, page, { ...states, order: 'size' }),
      // Only for the page, on which no repository fails.
      { newest_results: 250, worker_repo_state: 249, ...schedule, ...versionsOfPage },
    ],
    [
      'the worst repositories',
      (db) => listRepositories(db, page, { ...states, order: 'worst' }),
      // For each failing repository: its last good result, its fault, its error and its first failure, and all its
      // failures (160, 200 and 1 results).
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule, ...versionsOfPage },
        restore_drills: 50 * DRILLS_OF_EACH,
        backup_results: 3 * 4 + 361 + 3,
      },
    ],
    [
      'failing repositories by name',
      (db) =>
        listRepositories(db, page, { ...states, text: 'REPO', state: 'failing', order: 'name' }),
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule, ...versionsOfPage },
        restore_drills: 2 * DRILLS_OF_EACH,
        // A third repository fails, which was never good.
        backup_results: 1 + 2 * 4 + 162 + 2,
      },
    ],
    [
      'a failing repository',
      (db) => readRepository(db, 'OWNER/repo-7', states),
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule, archive_versions: 2 },
        ...{ coverage: 1, archive_refs: 0 },
        restore_drills: DRILLS_OF_EACH,
        // Includes its last archive.
        backup_results: 5 + 160 + 1,
      },
    ],
    [
      'a repository with many tags',
      (db) => readRepository(db, 'OWNER/repo-9', states),
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule, archive_versions: 2 },
        ...{ coverage: 1, archive_refs: 1, restore_drills: DRILLS_OF_EACH },
        backup_results: 5 + 160 + 1,
      },
    ],
    [
      'the history of a repository',
      (db) => listRepositoryHistory(db, 'OWNER/repo-7', page),
      { newest_results: 250, backup_results: 200 + 50 },
    ],
    [
      'the versions of a repository',
      (db) => listVersions(db, 'OWNER/repo-7', page, { withPruned: false }),
      // Its versions: those read for the spelling, and the matching ones, read for the page and for the total.
      { archive_versions: 3 * 40, newest_results: 250 },
    ],
    [
      'the refs of a version',
      (db) => readVersionRefs(db, 'OWNER/repo-7', 30, { after: 'refs/pull/15000', limit: 50 }),
      // The rows after this name. The planner expects so few that it may read all of them before sorting.
      { archive_versions: 41, archive_refs: 7_498 },
    ],
    [
      'the refs of a version with a prefix',
      (db) => readVersionRefs(db, 'OWNER/repo-7', 30, { prefix: 'refs/pull/1777', limit: 50 }),
      { archive_versions: 41, archive_refs: 15 },
    ],
    [
      'the overview',
      (db) => readOverview(db, states),
      // The last finished runs, the last run, the last good one, those under way, and the newest ones up to the first
      // that has ended. For each failing repository: its last good result, its fault, its archive, its error and its
      // first failure, and all its failures.
      {
        newest_results: 250,
        // For the states, and for proofs of archives that are missing now.
        worker_repo_state: 2 * 249,
        backup_runs: 22 + 1 + 1 + 2 + 3,
        backup_results: 3 * 5 + 362 + 3,
        archive_versions: 20,
        // The last proof of each repository, the last drill of each listed one, and the failed drills.
        restore_drills: 2 * 260 + FAILED_DRILLS,
        incidents: 3,
      },
    ],
    [
      'the metrics of each repository',
      (db) => readRepositoryMetrics(db, states, { max: 250, timeoutMs: 60_000 }),
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule, archive_versions: 250 },
        // For each failing repository: its last good result, its fault and its archive, and all its failures.
        backup_results: 3 * 3 + 361,
        // The newest drill, the newest proof, and the failed drills.
        restore_drills: 2 * 200 + FAILED_DRILLS,
      },
    ],
    [
      'the metrics of more repositories than have their own',
      (db) => readRepositoryMetrics(db, states, { max: 249, timeoutMs: 60_000 }),
      {
        ...{ newest_results: 250, worker_repo_state: 249, ...schedule },
        ...{ backup_results: 3 * 3, restore_drills: 2 * 200 + FAILED_DRILLS },
      },
    ],
    [
      'the metrics of runs',
      (db) => readMetricsOfRuns(db, states, 60_000),
      { backup_runs: 22 + 3 + 1 + 1 + 1 },
    ],
    [
      'the metrics of incidents',
      (db) => readIncidentMetrics(db, 60_000),
      { incidents: 3, incident_repositories: 30 },
    ],
    [
      'the coverage',
      (db) => readCoverage(db, page, states),
      {
        ...{ coverage: 10_000, newest_results: 250, worker_repo_state: 249, ...schedule },
        // For each failing repository: its last good result, its fault and its error.
        backup_results: 3 * 3 + 50,
      },
    ],
    // All 10,000 are read once, for the total. For open ones and for a repository, only those are.
    ['anomalies', (db) => listAnomalies(db, page, {}), { anomalies: 10_050 }],
    ['open anomalies', (db) => listAnomalies(db, page, { open: true }), { anomalies: 150 }],
    [
      'anomalies of a repository',
      (db) => listAnomalies(db, page, { repository: 'OWNER/repo-7' }),
      { anomalies: 80 },
    ],
    [
      'the repositories that are tracked, for discovery',
      listTracked,
      { newest_results: 250, worker_repo_state: 249 },
    ],
    ['snapshots', (db) => listSnapshots(db, page), { analytics_snapshots: 20_050 }],
    ['the latest snapshot', readLatestSnapshot, { analytics_snapshots: 1 }],
    ['the snapshot of a run', (db) => readSnapshotOfRun(db, 7), { analytics_snapshots: 1 }],
    [
      'the last durations of repositories',
      (db) => readLastDurations(db, ['owner/repo-1', 'owner/repo-7', 'owner/repo-8', 'unknown/x']),
      // Repository 8 was never good.
      { backup_results: 2 },
    ],
    ['logs', (db) => listLogs(db, page, {}), { execution_logs: 10_050 }],
    ['logs of a level', (db) => listLogs(db, page, { level: 'info' }), { execution_logs: 50 }],
    ['logs of a run', (db) => listLogs(db, page, { runId: 700 }), { execution_logs: 50 }],
    ['logs of a level in a run', (db) => listLogs(db, page, filters), { execution_logs: 50 }],
    ['the last logs', (db) => listLogs(db, lastPage, {}), { execution_logs: 10_170 }],
    [
      'the last logs of a level',
      (db) => listLogs(db, { page: 2_000, limit: 50 }, { level: 'info' }),
      // Half of all logs have this level, so the index of all logs may serve as well.
      { execution_logs: 220 },
    ],
    ['the end of the logs', (db) => readLogEnd(db, [gap]), { execution_logs: 10_050 }],
    ['a poll of the logs', (db) => pollLogs(db, 199_900n, [gap]), { execution_logs: 150 }],
    [
      'a replay of the logs',
      (db) => replayLogs(db, { after: 100n, upTo: 200_000n, late: [50n] }),
      { execution_logs: 1_010 },
    ],
    [
      'stats',
      (db) => readDashboardStats(db, states),
      {
        ...{ ...figures, worker_repo_state: 249, backup_runs: 2_001 + schedule.backup_runs },
        // For each failing repository: its last good result and its fault.
        backup_results: figures.backup_results + 3 * 2,
      },
    ],
    ['metrics', (db) => readRunMetrics(db, Date.now() - 864e5), { ...figures, backup_runs: 2_000 }],
    [
      'stale runs',
      (db) => sweepStaleRuns(db, { now: 864e5, staleAfterMs: 1 }),
      { backup_runs: 2, execution_logs: 2, backup_results: 50 },
    ],
  ];

  it.each(reads)('reads few rows for %s', async (_what, read, most) => {
    const counted = await explainRead(database, read, generic);
    for (const [table, rows] of Object.entries(counted)) {
      if (table.endsWith('_counts') || table.endsWith('_totals') || table === 'pg_class') continue;
      expect(rows, `rows of ${table}`).toBeLessThanOrEqual(most[table] ?? 0);
    }
  });
});
