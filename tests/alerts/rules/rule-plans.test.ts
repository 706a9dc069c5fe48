import { beforeAll, describe, expect, it } from 'vitest';
import { readNotGood } from '../../../lib/alerts/rules/not-good.ts';
import { type RuleName, ruleNames } from '../../../lib/alerts/rules/rule.ts';
import { rules } from '../../../lib/alerts/rules/rules.ts';
import { alertRuleVariables } from '../../../lib/config/alert-rules.ts';
import { freshnessVariables } from '../../../lib/config/freshness.ts';
import { readConfig } from '../../../lib/config/read.ts';
import type { Database } from '../../../lib/database/database.ts';
import { useDatabase } from '../../support/hooks.ts';
import { explainRead } from '../../support/plans.ts';
import { sql } from '../../support/records.ts';

// What a real Postgres reads for the rules, which are evaluated after each run and every 10 minutes. It must not grow
// with the results, log lines and runs that were ever recorded. Of the drills, only failed ones are read.

const REPOSITORIES = 10_000;
const RESULTS_OF_EACH = 10;
const RUNS = 2_000;
/** How many repositories fail, each in its last 3 results, and how many have failed drills. */
const FAILING = 100;
const DAYS = 1_000;

const database = useDatabase();

beforeAll(async () => {
  const statements = [
    `INSERT INTO backup_runs (status, started_at, stopped_by)
     SELECT CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'completed' END, now() - (${RUNS} - n) * interval '1 hour',
       CASE WHEN n > ${RUNS - 3} THEN 'SIGINT' END FROM generate_series(1, ${RUNS}) AS n`,
    `INSERT INTO backup_results (run_id, repo_full_name, status, fault, error_message, created_at)
     SELECT 1 + age * ${RUNS / RESULTS_OF_EACH}, 'owner/repo-' || n,
       CASE WHEN n <= ${FAILING} AND age > ${RESULTS_OF_EACH - 4} THEN 'failed' ELSE 'completed' END, NULL, '',
       now() - (${RESULTS_OF_EACH} - age) * interval '20 hours'
     FROM generate_series(0, ${RESULTS_OF_EACH - 1}) AS age, generate_series(1, ${REPOSITORIES}) AS n`,
    `INSERT INTO worker_repo_state (repo_full_name, checked_at)
     SELECT 'owner/repo-' || n, now() - interval '30 days' FROM generate_series(1, ${REPOSITORIES}) AS n`,
    `INSERT INTO execution_logs (run_id, level, message, created_at)
     SELECT 1 + n / 100, 'info', 'message ' || n, now() - (50000 - n) * interval '30 seconds'
     FROM generate_series(0, 49999) AS n`,
    `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, reason, evidence)
     SELECT 'owner/repo-' || 1 + n % 2000, 'folder', now() - (20000 - n) * interval '1 hour', 1, 1,
       CASE WHEN n % 2000 < ${FAILING} THEN 'failed' ELSE 'proven' END,
       CASE WHEN n % 2000 < ${FAILING} THEN 'it is damaged' END, CASE WHEN n % 2000 = 7 THEN '{"missing": true}' ELSE '{}' END::jsonb
     FROM generate_series(1, 20000) AS n`,
    `INSERT INTO anomalies (repo_full_name, run_id, version, kind, seen_at, confirmed_at)
     SELECT 'owner/repo-' || n, 1, 1, 'shrunk', now() - n * interval '1 minute', CASE WHEN n % 100 > 0 THEN now() END
     FROM generate_series(1, ${REPOSITORIES}) AS n`,
    `INSERT INTO archive_stores (repo_full_name, store, version, tried_at, failing_since)
     SELECT 'owner/repo-' || n, 's3://bucket/x', 1, now(), CASE WHEN n % 100 = 0 THEN now() END
     FROM generate_series(1, ${REPOSITORIES}) AS n`,
    `INSERT INTO archive_disks (machine, day, measured_at, free_bytes, total_bytes)
     SELECT 'nas', to_char(now() - n * interval '1 day', 'YYYY-MM-DD'), now() - n * interval '1 day', n, 1000
     FROM generate_series(1, ${DAYS}) AS n`,
    'INSERT INTO alert_evaluation (evaluation, evaluated_at) VALUES (1, now())',
    'VACUUM ANALYZE',
  ];
  for (const text of statements) await sql(database.db, text);
});

const config = readConfig(alertRuleVariables.extend(freshnessVariables.shape), {});
const evaluate = (name: RuleName) => (db: Database) =>
  rules[name].find({ db, now: Date.now(), config, notGood: async () => [] });

/** How many rows of each table the statement of a rule may read. */
const most: Partial<Record<RuleName, Record<string, number>>> = {
  // The last run that was not stopped, those after it, and how it ended.
  run_failed: { backup_runs: 3 },
  // The last finished runs.
  source_unread: { backup_runs: 20 },
  source_unread_by_hand: { backup_runs: 20 },
  // How many archives are not missing.
  archive_lost: { worker_repo_state: REPOSITORIES, newest_results: REPOSITORIES },
  // The last run, and those from which the interval is learnt.
  run_missed: { backup_runs: 1 + 20 + 2 * 3, alert_evaluation: 1 },
  // The active run, and the last ones of which ten were completed.
  run_slow: { backup_runs: 1 + 10 + 2 * 3 },
  destination_unreachable: { archive_stores: FAILING, backup_runs: 1 },
  login_expired: { backup_runs: 1 },
  login_expiring: { backup_runs: 1 },
  // One row per day and machine.
  disk_filling: { archive_disks: 2 * DAYS },
  // The failed drills, 10 of each repository, and the last one. Because one of them found no archive, the tables that
  // show when each repository was last seen.
  drill_failed: {
    ...{ restore_drills: (10 + 1) * FAILING },
    ...{ worker_repo_state: REPOSITORIES, newest_results: REPOSITORIES },
  },
  anomaly: { anomalies: FAILING },
};

function expectFew(counted: Record<string, number>, limits: Record<string, number>): void {
  for (const [table, rows] of Object.entries(counted)) {
    expect(rows, `rows of ${table}`).toBeLessThanOrEqual(limits[table] ?? 0);
  }
}

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_name, generic) => {
  it.each(Object.entries(most))('reads few rows for %s', async (name, limits) => {
    const counted = await explainRead(database, evaluate(name as RuleName), generic);
    expectFew(counted, limits);
  });

  it('reads few rows for the repositories that are not good', async () => {
    const counted = await explainRead(
      database,
      (db) => readNotGood(db, Date.now(), config),
      generic,
    );
    expectFew(counted, {
      ...{ newest_results: REPOSITORIES, worker_repo_state: REPOSITORIES, backup_runs: 20 + 1 + 2 },
      // The last finished runs, and the last one, past some that were stopped. For each failing repository: its last
      // good result, its fault, its error, its first failure and two failures.
      backup_results: 6 * FAILING,
    });
  });
});

it('the other rules have no statements of their own', async () => {
  const others = ruleNames.filter((name) => !(name in most));
  expect(others).toEqual(['repository_stale', 'repository_failing', 'database_unreachable']);
  for (const name of others) {
    await expect(explainRead(database, evaluate(name), false)).rejects.toThrow('0 round trips');
  }
});
