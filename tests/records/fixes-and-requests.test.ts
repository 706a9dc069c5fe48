import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { recordFix } from '../../lib/records/base/fixes.ts';
import { listFixes } from '../../lib/records/fix-list.ts';
import {
  listRunRequests,
  requestRun,
  withdrawRunRequest,
} from '../../lib/records/runs/run-requests.ts';
import { everyDatabase } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { explainRead } from '../support/plans.ts';
import { empty, insertRun, sql } from '../support/records.ts';

const page = { page: 1, limit: 50 };

describe.each(everyDatabase)('over %s', (_name, create) => {
  const database = useDatabase(create);
  let db: Database;

  beforeAll(async () => {
    db = database.db;
  });
  beforeEach(() => empty(db));

  it('fixes are recorded and listed, for one run and for all', async () => {
    const run = await insertRun(db);
    const fix = { title: 'a', description: 'b', author: 'ada', commitHash: '' };
    // Ids beyond the range of run ids. The statement is repeated until it has a generic plan.
    for (let count = 0; count < 7; count++) {
      expect(await recordFix(db, { ...fix, affectedRunId: 999 })).toBeNull();
      expect(await recordFix(db, { ...fix, affectedRunId: Number.MAX_SAFE_INTEGER })).toBeNull();
    }
    await recordFix(db, { ...fix, affectedRunId: run });
    await recordFix(db, { ...fix, title: 'other', affectedRunId: null });
    const all = await listFixes(db, page);
    expect(JSON.parse(all.items)).toMatchObject([
      { title: 'other', affected_runs: [] },
      { title: 'a', description: 'b', author: 'ada', affected_runs: [run] },
    ]);
    expect(all.totalItems).toBe(2);
    expect(await listFixes(db, page, run)).toMatchObject({ totalItems: 1 });
    expect(await listFixes(db, { page: 2 ** 40, limit: 500 }, run)).toEqual({
      items: '[]',
      totalItems: 1,
    });
  });

  it('requests for a run are queued, withdrawn once, and listed', async () => {
    await requestRun(db, { target: null, requestedBy: 'ada', reason: 'why' });
    expect(await listRunRequests(db, page, 'pending')).toMatchObject({ totalItems: 1 });
    const { item, isKnown } = await withdrawRunRequest(db, 1);
    expect(JSON.parse(item ?? '')).toMatchObject({ id: 1, status: 'failed', withdrawn: true });
    expect(isKnown).toBe(true);
    expect(await withdrawRunRequest(db, 1)).toEqual({ item: null, isKnown: true });
    expect(await withdrawRunRequest(db, 2)).toEqual({ item: null, isKnown: false });
    const all = await listRunRequests(db, page);
    expect(JSON.parse(all.items)).toEqual([JSON.parse(item ?? '')]);
    expect(await listRunRequests(db, page, 'pending')).toEqual({ items: '[]', totalItems: 0 });
  });
});

describe.each([
  ['the plan for its values', false],
  ['the plan for any values', true],
])('%s', (_name, generic) => {
  const database = useDatabase();

  beforeAll(async () => {
    for (const text of [
      'INSERT INTO backup_runs (id) SELECT generate_series(1, 2000)',
      `INSERT INTO backup_fixes (title, created_at)
       SELECT 'fix ' || n, now() - n * interval '1 minute' FROM generate_series(1, 5000) AS n`,
      `INSERT INTO backup_run_fixes (run_id, fix_id)
       SELECT 1 + n % 2000, 1 + n % 5000 FROM generate_series(0, 9999) AS n`,
      `INSERT INTO backup_run_requests (status)
       SELECT CASE WHEN n > 19990 THEN 'pending' ELSE 'completed' END FROM generate_series(1, 20000) AS n`,
      'VACUUM ANALYZE',
    ]) {
      await sql(database.db, text);
    }
  });

  const reads: [string, (db: Database) => Promise<unknown>, Record<string, number>][] = [
    // The total is counted from the index.
    ['fixes', (db) => listFixes(db, page), { backup_fixes: 5_050, backup_run_fixes: 200 }],
    ['fixes of a run', (db) => listFixes(db, page, 7), { backup_fixes: 5, backup_run_fixes: 30 }],
    ['pending requests', (db) => listRunRequests(db, page, 'pending'), { backup_run_requests: 20 }],
    ['requests', (db) => listRunRequests(db, page), { backup_run_requests: 20_050 }],
  ];

  it.each(reads)('reads few rows for %s', async (_what, read, most) => {
    const counted = await explainRead(database, read, generic);
    for (const [table, rows] of Object.entries(counted)) {
      expect(rows, `rows of ${table}`).toBeLessThanOrEqual(most[table] ?? 0);
    }
  });
});
