import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { listFilteredLogs, selectLogs } from '../../lib/records/logs/filtered.ts';
import { findRecordedArchive } from '../../lib/records/recorded-archive.ts';
import { readMetricsHistory } from '../../lib/records/runs/metrics-history.ts';
import { readErrorLogs, readFailure } from '../../lib/records/runs/run-failures.ts';
import { requestRun } from '../../lib/records/runs/run-requests.ts';
import { listRuns, readRunDetails } from '../../lib/records/runs/runs.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { sql } from '../support/records.ts';

// The statements behind the tools; plans.test.ts covers those of the service API. One repository has nine tenths of all
// logs, so a plan that suits most repositories may be bad for it.

const database = useDatabase();

beforeAll(async () => {
  const statements = [
    `INSERT INTO backup_runs (status, failed, started_at)
     SELECT CASE WHEN n % 1000 = 7 THEN 'failed' ELSE 'completed' END, (n % 1000 = 8)::int,
       date_trunc('hour', now()) - (2000 - n) * interval '1 hour' FROM generate_series(1, 2000) AS n`,
    `INSERT INTO backup_results (run_id, repo_full_name, status, created_at)
     SELECT 1 + n / 25, 'owner/repo-' || n % 250, CASE WHEN n / 25 = 1007 AND n % 5 = 0 THEN 'failed' ELSE 'completed' END,
       date_trunc('hour', now()) - (50000 - n) * interval '1 minute' FROM generate_series(0, 49999) AS n`,
    `INSERT INTO execution_logs (run_id, level, repository, created_at)
     SELECT 1 + n / 100, (ARRAY['info', 'info', 'warn', 'ERROR'])[1 + n % 4],
       CASE WHEN n % 10 > 0 THEN 'Owner/busy' WHEN n % 2000 = 0 THEN 'owner/rare' END,
       date_trunc('hour', now()) - (100000 - n) * interval '30 seconds' FROM generate_series(0, 99999) AS n`,
    `INSERT INTO backup_fixes (title) SELECT n FROM generate_series(1, 5000) AS n`,
    `INSERT INTO backup_run_fixes SELECT 1 + n % 2000, n FROM generate_series(1, 5000) AS n`,
    `INSERT INTO backup_run_requests (status, target_repo)
     SELECT CASE WHEN n > 49990 THEN 'pending' ELSE 'completed' END, 'owner/repo-' || n FROM generate_series(1, 50000) AS n`,
    `INSERT INTO worker_repo_state (repo_full_name) SELECT 'owner/repo-' || n FROM generate_series(1, 250) AS n`,
    'VACUUM ANALYZE',
  ];
  for (const text of statements) await sql(database.db, text);
});

const LONG_AGO = '2020-01-01T00:00:00Z';
/** Later than every log. */
const SOON = new Date(Date.now() + 864e5).toISOString();
const request = { target: 'owner/repo-7', requestedBy: 'mcp', reason: '' };
const logs = (selection: object) => (db: Database) => selectLogs(db, selection, 50);
const listed =
  (selection: object, page = 1) =>
  (db: Database) =>
    listFilteredLogs(db, { page, limit: 50 }, selection, null);
/** The rows read for a page and for its total. */
const pageAndTotal = (page: number, total: number) => ({ execution_logs: page + total });

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_name, generic) => {
  const reads: [string, (db: Database) => Promise<unknown>, Record<string, number>][] = [
    [
      'runs of a status',
      (db) => listRuns(db, { page: 1, limit: 20 }, { status: 'failed' }),
      { backup_runs: 4_000 },
    ],
    [
      'runs with failures',
      (db) => listRuns(db, { page: 1, limit: 20 }, { hasFailures: true }),
      { backup_runs: 4_000 },
    ],
    [
      'a run with its fixes',
      (db) => readRunDetails(db, 1_008, { offset: 0, limit: 500 }),
      { backup_runs: 1, backup_results: 50, backup_run_fixes: 9, backup_fixes: 3 },
    ],
    ['the newest logs', logs({}), { execution_logs: 50 }],
    ['logs of a level', logs({ level: 'error' }), { execution_logs: 50 }],
    ['logs of a run', logs({ runId: 700 }), { execution_logs: 50 }],
    ['logs of a run and level', logs({ runId: 700, level: 'error' }), { execution_logs: 50 }],
    // The newest of each of its three levels, and one row that names each level.
    ['logs of a busy repository', logs({ repository: 'owner/busy' }), { execution_logs: 154 }],
    ['logs of a rare repository', logs({ repository: 'owner/rare' }), { execution_logs: 154 }],
    ['logs of an unknown repository', logs({ repository: 'owner/none' }), { execution_logs: 0 }],
    [
      'logs of a level of a busy repository',
      logs({ repository: 'owner/busy', level: 'error' }),
      { execution_logs: 50 },
    ],
    [
      'logs of a level that a busy repository never had',
      logs({ repository: 'owner/busy', level: 'debug' }),
      { execution_logs: 0 },
    ],
    [
      'logs of a repository in a run',
      logs({ repository: 'owner/rare', runId: 701 }),
      { execution_logs: 110 },
    ],
    [
      'the latest failed run',
      (db) => readFailure(db),
      {
        backup_runs: 1,
        backup_results: 100,
        backup_fixes: 3,
        backup_run_fixes: 3,
      },
    ],
    [
      'a failed run',
      (db) => readFailure(db, 1_008),
      {
        backup_runs: 1,
        backup_results: 100,
        backup_fixes: 3,
        backup_run_fixes: 3,
      },
    ],
    [
      'error logs of repositories in a run',
      (db) => readErrorLogs(db, 1_008, ['owner/busy', 'owner/rare']),
      { execution_logs: 100 },
    ],
    ['logs since a moment', logs({ since: SOON }), { execution_logs: 0 }],
    ['logs of a run since a moment', logs({ runId: 700, since: SOON }), { execution_logs: 0 }],
    // The page and the log before it, which is looked up twice.
    ['older logs', logs({ beforeId: 100_000 }), { execution_logs: 52 }],
    ['older logs of a run', logs({ runId: 700, beforeId: 69_960 }), { execution_logs: 52 }],
    [
      'older logs of a busy repository',
      logs({ repository: 'owner/busy', beforeId: 100_000 }),
      { execution_logs: 160 },
    ],
    ['metrics', (db) => readMetricsHistory(db, Date.now() - 7 * 864e5), { backup_runs: 2_000 }],
    [
      'a recorded archive',
      (db) => findRecordedArchive(db, 'Owner/Repo-7'),
      { worker_repo_state: 250 },
    ],
    [
      'a request for a run',
      (db) => requestRun(db, request),
      { backup_run_requests: 12, newest_results: 250 },
    ],
  ];

  it.each(reads)('reads few rows for %s', async (_what, read, most) => {
    const counted = await explainRead(database, read, generic);
    for (const [table, rows] of Object.entries(counted)) {
      expect(rows, `rows of ${table}`).toBeLessThanOrEqual(most[table] ?? 0);
    }
  });
});

// Like the lists of GET /api/logs, with a bounded total. These statements have no name, so they are always planned for
// their values.
it.each<[string, (db: Database) => Promise<unknown>, Record<string, number>]>([
  [
    'a page of logs of a busy repository',
    listed({ repository: 'owner/busy' }),
    pageAndTotal(154, 30_004),
  ],
  [
    'a page of logs of a level of a busy repository',
    listed({ repository: 'owner/busy', level: 'error' }),
    pageAndTotal(50, 10_000),
  ],
  ['a page of logs since a moment', listed({ since: LONG_AGO }), pageAndTotal(50, 10_000)],
  ['a page of logs before a moment', listed({ until: SOON }), pageAndTotal(50, 10_000)],
  [
    'a page of logs of a level before a moment',
    listed({ until: SOON, level: 'error' }),
    pageAndTotal(50, 10_000),
  ],
  [
    'a page of logs of a run between moments',
    listed({ runId: 700, since: LONG_AGO, until: SOON }),
    pageAndTotal(50, 100),
  ],
  [
    'the last page of logs that are counted',
    listed({ until: SOON }, 200),
    pageAndTotal(10_000, 10_000),
  ],
  [
    'a page behind those that are counted',
    listed({ until: SOON }, 90_000),
    pageAndTotal(0, 10_000),
  ],
  ['a page of older logs', listed({ beforeId: 100_000 }), pageAndTotal(53, 10_000)],
  // The ends of the run are looked up for the page and for the total.
  [
    'a page of logs of a repository in a run',
    listed({ repository: 'owner/rare', runId: 701 }),
    pageAndTotal(112, 112),
  ],
  [
    'a page of logs of a level that there is none of',
    listed({ until: SOON, level: 'debug' }),
    pageAndTotal(0, 0),
  ],
])('the plan reads few rows for %s', async (_what, read, most) => {
  const counted = await explainRead(database, read, false);
  expect(counted.execution_logs).toBeLessThanOrEqual(most.execution_logs ?? 0);
});
