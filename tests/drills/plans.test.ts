import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { claimDrill } from '../../lib/records/drills/due.ts';
import { readEvidenceDrills, readEvidenceRepositories } from '../../lib/records/drills/evidence.ts';
import { readLedger } from '../../lib/records/drills/ledger.ts';
import { listDrills } from '../../lib/records/drills/list.ts';
import { readRecordedVersion } from '../../lib/records/drills/record.ts';
import { readOverview } from '../../lib/records/overview.ts';
import { readRepository } from '../../lib/records/repositories/list.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { sql } from '../support/records.ts';

// 250 repositories with 80 drills each, of which every tenth failed.
const REPOSITORIES = 250;
const DRILLS = 20_000;

const database = useDatabase();

beforeAll(async () => {
  const { db } = database;
  await sql(db, "INSERT INTO backup_runs (status) VALUES ('completed')");
  await sql(
    db,
    `INSERT INTO backup_results (run_id, repo_full_name, status)
     SELECT 1, 'owner/repo-' || n, 'completed' FROM generate_series(0, ${REPOSITORIES - 1}) AS n`,
  );
  await sql(
    db,
    `INSERT INTO worker_repo_state (repo_full_name, archive_key)
     SELECT 'owner/repo-' || n, n || '.bundle' FROM generate_series(0, ${REPOSITORIES - 1}) AS n`,
  );
  await sql(
    db,
    `INSERT INTO archive_versions (repo_full_name, version, created_at)
     SELECT 'owner/repo-' || n % ${REPOSITORIES}, 1 + n / ${REPOSITORIES}, now() - (10000 - n) * interval '1 minute'
     FROM generate_series(0, 9999) AS n`,
  );
  await sql(
    db,
    `INSERT INTO restore_drills (repository_name, version, storage, started_at, duration_ms, bytes, outcome, reason, evidence)
     SELECT 'owner/repo-' || n % ${REPOSITORIES}, 39, 'folder', now() - (30000 - n) * interval '1 minute', 5, 6,
       CASE n % 10 WHEN 3 THEN 'failed' ELSE 'proven' END, CASE n % 10 WHEN 3 THEN 'x' END, '{}'
     FROM generate_series(0, ${DRILLS - 1}) AS n`,
  );
  await sql(db, 'VACUUM ANALYZE');
});

const now = new Date().toISOString();
const judging = { now, freshnessHours: 26, scheduleMs: null };
const period = {
  ...{ from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' },
  now: '2100-01-01T00:00:00Z',
};
const all = { now, isForced: true, only: null, without: [] };

describe.each([
  ['its values', false],
  ['any values', true],
] as const)('with the plan for %s,', (_which, generic) => {
  it.each<[string, number, (db: Database) => Promise<unknown>]>([
    // The page, and the total by the index.
    ['a page of drills', 50 + 80, (db) => listDrills(db, 'Owner/Repo-7', { page: 1, limit: 50 })],
    ['a repository', 2 + 10, (db) => readRepository(db, 'owner/repo-7', judging)],
    ['the overview', REPOSITORIES * (2 + 10), (db) => readOverview(db, judging)],
    ['the next drill', REPOSITORIES * (1 + 10 + 20), (db) => claimDrill(db, 'me', all)],
    [
      'one drill by name',
      1 + 10 + 20,
      (db) => claimDrill(db, 'me', { ...all, only: 'owner/repo-7' }),
    ],
    ['a page of the ledger', 100, (db) => readLedger(db, 9_000n, 100)],
    ['a page of evidence', 100, (db) => readEvidenceDrills(db, period, null, 100)],
    [
      'repositories for evidence',
      20 * (1 + 10 + 10),
      (db) => readEvidenceRepositories(db, period, '', 20),
    ],
  ])('%s reads at most %i drills', async (_what, most, read) => {
    const { restore_drills: drills = 0 } = await explainRead(database, read, generic);
    expect(drills).toBeGreaterThan(0);
    expect(drills).toBeLessThanOrEqual(most);
  });

  it('the record of a version reads one row', async () => {
    const read = (db: Database) => readRecordedVersion(db, 'Owner/Repo-7', 3);
    const { archive_versions: versions = 0 } = await explainRead(database, read, generic);
    expect(versions).toBeLessThanOrEqual(1);
  });
});
