import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import {
  listSnapshots,
  readLatestSnapshot,
  readSnapshotOfRun,
} from '../../lib/records/base/snapshots.ts';
import { readDashboardStats } from '../../lib/records/dashboard-stats.ts';
import { listFilteredLogs } from '../../lib/records/logs/filtered.ts';
import { listLogs } from '../../lib/records/logs/list.ts';
import { readOverview } from '../../lib/records/overview.ts';
import { ping } from '../../lib/records/ping.ts';
import { listRepositoryHistory } from '../../lib/records/repositories/history.ts';
import { listRepositories, readRepository } from '../../lib/records/repositories/list.ts';
import { readRunMetrics } from '../../lib/records/runs/run-metrics.ts';
import { listRuns, readLatestRun, readRun } from '../../lib/records/runs/runs.ts';
import { STALE_RUN_MESSAGE, sweepStaleRuns } from '../../lib/records/runs/stale-runs.ts';
import { parseQuery } from '../../lib/search/parse-query.ts';
import { everyDatabase } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  empty,
  insertFix,
  insertLog,
  insertResult,
  insertRun,
  insertSnapshot,
  plannersEstimate,
  sql,
} from '../support/records.ts';

// Runs every query over backup data with each driver, because their types and servers differ.

/** Earlier than every result in these tests, so that none is stale. */
const judging = { now: '2026-01-02T02:00:00Z', freshnessHours: 26, scheduleMs: null };
const bySize = { order: 'size', ...judging } as const;
const firstPage = { page: 1, limit: 10 };
const HUGE = '9223372036854775807';

describe.each(everyDatabase)('over %s', (_name, create) => {
  const database = useDatabase(create);
  let db: Database;

  beforeAll(async () => {
    db = database.db;
  });
  beforeEach(() => empty(db));

  it('every query works on an empty database', async () => {
    const nothing = { items: '[]', totalItems: 0 };
    expect(await listRuns(db, firstPage)).toEqual(nothing);
    expect(await listSnapshots(db, firstPage)).toEqual(nothing);
    expect(await listLogs(db, firstPage, {})).toEqual(nothing);
    expect(await listLogs(db, { page: 500, limit: 10 }, { level: 'info', runId: 1 })).toEqual(
      nothing,
    );
    expect(await listRepositories(db, firstPage, { order: 'worst', ...judging })).toEqual(nothing);
    expect(await readRepository(db, 'owner/a', judging)).toBeNull();
    expect(await listRepositoryHistory(db, 'owner/a', firstPage)).toEqual(nothing);
    expect(JSON.parse(await readOverview(db, judging))).toMatchObject({
      repositories: { total: 0 },
    });
    const words = parseQuery('a').alternatives;
    expect(await listFilteredLogs(db, firstPage, { runId: 1 }, words)).toEqual({
      ...nothing,
      isCut: false,
    });
    expect(await readLatestRun(db)).toBeNull();
    expect(await readRun(db, 1)).toBeNull();
    expect(await readLatestSnapshot(db)).toBeNull();
    expect(await readSnapshotOfRun(db, 1)).toBeNull();
    expect(JSON.parse(await readDashboardStats(db, judging))).toMatchObject({ total_runs: 0 });
    expect(JSON.parse(await readRunMetrics(db, 0))).toMatchObject({ runs: [] });
    expect(await sweepStaleRuns(db, { now: Date.now(), staleAfterMs: 0 })).toEqual([]);
    await ping(db);
  });

  it('a page is JSON text, and its total is a number', async () => {
    const id = await insertRun(db, { started_at: '2026-03-01T10:00:00.123456+05:30' });
    const { items, totalItems } = await listRuns(db, firstPage);
    expect(JSON.parse(items)).toMatchObject([{ id, started_at: '2026-03-01T04:30:00.123456Z' }]);
    expect(totalItems).toBe(1);
  });

  it('a run includes its results and fixes', async () => {
    const run = await insertRun(db);
    const result = await insertResult(db, run, 'owner/a/b');
    const fix = await insertFix(db, [run]);
    const found = await readRun(db, run);
    expect(JSON.parse(found?.run ?? '')).toMatchObject({ id: run });
    expect(JSON.parse(found?.results ?? '')).toMatchObject([{ id: result }]);
    expect(JSON.parse((await readLatestRun(db)) ?? '')).toMatchObject({ fixes: [{ id: fix }] });
  });

  it('64-bit sizes and their sums stay exact', async () => {
    const run = await insertRun(db);
    await insertResult(db, run, 'owner/a', { archive_size_bytes: HUGE });
    await insertResult(db, run, 'owner/b', { archive_size_bytes: HUGE });
    expect((await listRepositories(db, firstPage, bySize)).items).toContain(
      `"archive_size_bytes":${HUGE},`,
    );
    expect((await readRun(db, run))?.results).toContain(`"archive_size_bytes":${HUGE},`);
    const stats = await readDashboardStats(db, judging);
    expect(stats).toContain('"total_size_bytes":18446744073709551614,');
    expect(stats).toContain(`"largest_archive_bytes":${HUGE},`);
  });

  it('the newest result of each repository is found', async () => {
    const run = await insertRun(db);
    for (const name of ['z', 'owner/a', 'Owner/A', 'ö/ü', 'owner/a/b', '']) {
      await insertResult(db, run, name, { created_at: '2026-03-01T00:00:00Z', commit_hash: 'old' });
      await insertResult(db, run, name, { created_at: '2026-03-02T00:00:00Z', commit_hash: 'new' });
    }
    const { items, totalItems } = await listRepositories(db, firstPage, bySize);
    const repos: { full_name: string; last_commit_hash: string }[] = JSON.parse(items);
    expect(totalItems).toBe(6);
    expect(new Set(repos.map(({ full_name }) => full_name)).size).toBe(6);
    expect(new Set(repos.map(({ last_commit_hash }) => last_commit_hash))).toEqual(
      new Set(['new']),
    );
  });

  it('repositories are found, filtered and counted by state', async () => {
    const run = await insertRun(db, { status: 'completed', started_at: '2026-03-01T00:00:00Z' });
    const at = (day: number) => ({ created_at: `2026-03-0${day}T00:00:00Z` });
    await insertResult(db, run, 'Owner/A', { ...at(1), archive_size_bytes: HUGE });
    await insertResult(db, run, 'Owner/A', { ...at(2), status: 'failed', error_message: 'no' });
    await insertResult(db, run, 'owner/b', at(3));
    const selection = { order: 'worst', state: 'failing', text: 'OWNER', ...judging } as const;
    const { items, totalItems } = await listRepositories(db, firstPage, selection);
    expect(totalItems).toBe(1);
    const failing = {
      full_name: 'Owner/A',
      state: 'failing',
      last_good_at: '2026-03-01T00:00:00.000000Z',
      failing_since: '2026-03-02T00:00:00.000000Z',
      consecutive_failures: 1,
      error_message: 'no',
    };
    expect(JSON.parse(items)).toMatchObject([failing]);
    expect(JSON.parse((await readRepository(db, 'owner/a', judging)) ?? '')).toMatchObject(failing);
    expect((await listRepositoryHistory(db, 'owner/a', firstPage)).totalItems).toBe(2);
    const overview = await readOverview(db, judging);
    expect(overview).toContain(`"current_archive_bytes":${HUGE},`);
    expect(JSON.parse(overview)).toMatchObject({
      repositories: { total: 2, good: 1, failing: 1 },
      worst: [failing],
      last_good_run: { id: run },
      usual_interval_ms: null,
      freshness_hours: 26,
    });
  });

  it('logs are found with all filters combined', async () => {
    const row = { run_id: 7, level: 'WARN', repository: 'Owner/A', message: 'slow clone' };
    const id = await insertLog(db, { ...row, created_at: '2026-03-02T00:00:00Z' });
    const newer = await insertLog(db, { ...row, created_at: '2026-03-02T00:00:01Z' });
    const selection = {
      runId: 7,
      level: 'warn',
      repository: 'owner/a',
      since: '2026-03-02T00:00:00Z',
      until: '2026-03-03T00:00:00Z',
      beforeId: newer,
    };
    for (const words of [null, parseQuery('SLOW').alternatives]) {
      const found = await listFilteredLogs(db, firstPage, selection, words);
      expect(JSON.parse(found.items)).toMatchObject([{ id, ...row }]);
      expect(found).toMatchObject({ totalItems: 1, isCut: false });
    }
    const words = parseQuery('clone').alternatives;
    expect(await listFilteredLogs(db, firstPage, {}, words)).toMatchObject({ totalItems: 2 });
  });

  it('snapshots are found by run', async () => {
    const id = await insertSnapshot(db, { run_id: 3, total_blob_size_bytes: HUGE });
    await insertSnapshot(db, { run_id: null, captured_at: '2026-01-01T00:00:00Z' });
    expect(await readSnapshotOfRun(db, 3)).toContain(`"total_blob_size_bytes":${HUGE},`);
    expect(JSON.parse((await readLatestSnapshot(db)) ?? '')).toMatchObject({ id, run_id: 3 });
    expect((await listSnapshots(db, firstPage)).totalItems).toBe(2);
  });

  it("totals of logs are exact below 10,000 and are the planner's estimate above", async () => {
    const fill = (count: number) =>
      sql(db, `INSERT INTO execution_logs (level) SELECT 'warn' FROM generate_series(1, ${count})`);
    const total = async (filter = {}) => (await listLogs(db, firstPage, filter)).totalItems;
    await fill(9_999);
    expect(await total()).toBe(9_999);
    await fill(5_001);
    await sql(db, 'ANALYZE execution_logs');
    expect(await total()).toBe(await plannersEstimate(db));
    expect(await total({ level: 'warn' })).toBe(15_000);
    expect(await total({ level: 'info' })).toBe(0);
    await sql(db, 'DELETE FROM execution_logs WHERE id > 12000');
    expect(await total({ level: 'warn' })).toBe(12_000);
    expect(JSON.parse(await readDashboardStats(db, judging))).toMatchObject({
      total_logs: await plannersEstimate(db),
    });
  });

  it('a deep page equals the same rows of a plain ORDER BY', async () => {
    await sql(
      db,
      `INSERT INTO execution_logs (run_id, level, created_at)
       SELECT n % 2, (ARRAY['info', 'INFO', 'warn'])[1 + n % 3],
         timestamptz '2026-03-01 10:00:00Z' + n / 700 * interval '20 minutes'
       FROM generate_series(1, 4000) AS n`,
    );
    for (const page of [100, 101, 150, 333, 400, 401]) {
      const rows = await sql<{ id: string }>(
        db,
        `SELECT log.id::text FROM execution_logs AS log ORDER BY log.created_at DESC, log.id DESC
         LIMIT 10 OFFSET ${(page - 1) * 10}`,
      );
      const { items } = await listLogs(db, { page, limit: 10 }, {});
      expect(JSON.parse(items).map((log: { id: number }) => String(log.id))).toEqual(
        rows.map(({ id }) => id),
      );
    }
    expect((await listLogs(db, { page: 160, limit: 10 }, { level: 'info', runId: 1 })).items).toBe(
      '[]',
    );
  });

  it('a stale run fails with its reason and frees its key', async () => {
    const now = Date.parse('2026-03-01T11:00:00Z');
    const stale = await insertRun(db, {
      status: 'running',
      started_at: '2026-03-01T10:00:00Z',
      exclusive_key: 'worker',
    });
    await insertRun(db, { status: 'running', started_at: '2026-03-01T10:45:00Z' });
    expect(await sweepStaleRuns(db, { now, staleAfterMs: 1_800_000 })).toEqual([stale]);
    expect(JSON.parse((await readRun(db, stale))?.run ?? '')).toMatchObject({
      status: 'failed',
      completed_at: '2026-03-01T11:00:00.000000Z',
      duration_ms: 3_600_000,
      error_message: STALE_RUN_MESSAGE,
    });
    const held = await sql(db, 'SELECT id FROM backup_runs WHERE exclusive_key IS NOT NULL');
    expect(held).toEqual([]);
  });
});
