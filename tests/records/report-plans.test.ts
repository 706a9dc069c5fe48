import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { readRunFacts, readRunHistory, readSummaryFacts } from '../../lib/records/report-facts.ts';
import { findReport, listReports } from '../../lib/records/reports.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { sql } from '../support/records.ts';

// How the planner of a real Postgres runs the statements of a report over filled tables.

const ID = '00000000-0000-4000-8000-000000000007';
const database = useDatabase();

beforeAll(async () => {
  await sql(
    database.db,
    `INSERT INTO reports (id, username, report_type, subject, content_markdown, content_html, created_at)
     SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'user-' || n % 20, 'custom', 's', 'm', 'h',
       now() - n * interval '1 minute' FROM generate_series(1, 20000) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO backup_runs (status, started_at, total_repos, failed)
     SELECT 'completed', now() - (5000 - n) * interval '1 hour', 25, (n % 100 = 0)::int
     FROM generate_series(1, 5000) AS n`,
  );
  await sql(
    database.db,
    `INSERT INTO backup_results (run_id, repo_full_name, status, archive_size_bytes, created_at)
     SELECT 1 + n / 25, 'owner/repo-' || n % 250, CASE WHEN n % 2500 = 2475 THEN 'failed' ELSE 'completed' END, n,
       now() - (125000 - n) * interval '2 minutes' FROM generate_series(0, 124999) AS n`,
  );
  await sql(database.db, 'VACUUM ANALYZE');
});

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_case, generic) => {
  const reads: [string, (db: Database) => Promise<unknown>, Record<string, number>][] = [
    ['a report', (db) => findReport(db, 'user-7', ID), { reports: 1 }],
    ['reports', (db) => listReports(db, 'user-7', { page: 1, limit: 20 }), { reports: 20 }],
    ['the latest run', (db) => readRunFacts(db), { backup_runs: 31, backup_results: 75 }],
    ['a run', (db) => readRunFacts(db, 700), { backup_runs: 31, backup_results: 75 }],
    ['the runs before one', (db) => readRunHistory(db, 700), { backup_runs: 31 }],
    [
      'a summary',
      (db) => readSummaryFacts(db, { now: Date.now() }),
      // The 720 runs of 30 days, and the results of the 7 runs in which repositories failed.
      { backup_runs: 720, backup_results: 7 * 25 + 25, newest_results: 250 },
    ],
  ];

  it.each(reads)('reads few rows for %s', async (_what, read, most) => {
    const counted = await explainRead(database, read, generic);
    expect(Object.keys(counted)).not.toEqual([]);
    for (const [table, rows] of Object.entries(counted)) {
      if (table.endsWith('_totals')) continue;
      expect(rows, `rows of ${table}`).toBeLessThanOrEqual(most[table] ?? 0);
    }
  });
});
