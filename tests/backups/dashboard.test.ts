import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readDashboardStats } from '../../lib/records/dashboard-stats.ts';
import { type Client, createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  empty,
  insertLog,
  insertResult,
  insertRun,
  insertSnapshot,
  sql,
} from '../support/records.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = createClient({ db: database.db });
});
beforeEach(() => empty(database.db));

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(client.deps.clock.now() - days * DAY_MS).toISOString();
const stats = async () => (await client.get('/api/dashboard/stats')).body;
const metrics = async (query = '') => (await client.get(`/api/metrics${query}`)).body;

describe('GET /api/dashboard/stats', () => {
  it('returns zeros for an empty database', async () => {
    expect(await stats()).toEqual({
      total_runs: 0,
      total_repos: 0,
      total_successful: 0,
      total_failed: 0,
      total_skipped: 0,
      distinct_repos: 0,
      repositories: { total: 0, good: 0, stale: 0, failing: 0, lost: 0, never: 0, gone: 0 },
      total_logs: 0,
      success_rate: 0,
      last_run_status: '',
      last_run_at: null,
      avg_duration_ms: 0,
      total_size_bytes: 0,
      largest_archive_bytes: 0,
      largest_repository: '',
      latest_analytics: null,
    });
  });

  it('sums the counts of all runs, treating NULL as 0', async () => {
    await insertRun(database.db, { total_repos: 8, successful: 4, failed: 1, skipped: 3 });
    await insertRun(database.db, { total_repos: 2, successful: 1, failed: 1, skipped: 0 });
    await insertRun(database.db, { total_repos: null, successful: null, failed: null });
    expect(await stats()).toMatchObject({
      total_runs: 3,
      total_repos: 10,
      total_successful: 5,
      total_failed: 2,
      total_skipped: 3,
      success_rate: 80,
    });
  });

  it.each([
    { total_repos: 3, failed: 1, rate: 100 * (1 - 1 / 3) },
    { total_repos: 3, failed: 5, rate: 0 },
    { total_repos: 3, failed: -1, rate: 100 },
    { total_repos: 0, failed: 0, rate: 0 },
  ])('keeps the success rate between 0 and 100: $failed of $total_repos', async (row) => {
    await insertRun(database.db, { total_repos: row.total_repos, failed: row.failed });
    expect(await stats()).toMatchObject({ success_rate: row.rate });
  });

  it('averages the duration of finished runs that have one, rounded', async () => {
    await insertRun(database.db, { status: 'completed', duration_ms: 100 });
    await insertRun(database.db, { status: 'failed', duration_ms: 201 });
    await insertRun(database.db, { status: 'completed', duration_ms: 0 });
    await insertRun(database.db, { status: 'completed', duration_ms: null });
    await insertRun(database.db, { status: 'running', duration_ms: 9_000 });
    expect(await stats()).toMatchObject({ avg_duration_ms: 151 });
  });

  it('returns the status and start of the run that started last', async () => {
    await insertRun(database.db, { status: 'success', started_at: '2026-03-02T01:02:03.000004Z' });
    await insertRun(database.db, { status: 'failed', started_at: '2026-03-01T00:00:00Z' });
    expect(await stats()).toMatchObject({
      last_run_status: 'completed',
      last_run_at: '2026-03-02T01:02:03.000004Z',
    });
  });

  it('adds up archive sizes beyond 32 bits and names the largest archive ever', async () => {
    const run = await insertRun(database.db);
    const size = (bytes: number | null) => ({ archive_size_bytes: bytes });
    await insertResult(database.db, run, 'owner/small', size(1));
    await insertResult(database.db, run, 'owner/large', size(5_000_000_000));
    await insertResult(database.db, run, 'owner/large', size(7));
    await insertResult(database.db, run, 'owner/none', size(null));
    expect(await stats()).toMatchObject({
      distinct_repos: 3,
      total_size_bytes: 5_000_000_008,
      largest_archive_bytes: 5_000_000_000,
      largest_repository: 'owner/large',
    });
  });

  it('names the newest of equally large archives, and none when all are empty', async () => {
    const run = await insertRun(database.db);
    await insertResult(database.db, run, 'owner/empty', { archive_size_bytes: 0 });
    expect(await stats()).toMatchObject({ largest_archive_bytes: 0, largest_repository: '' });
    await insertResult(database.db, run, 'owner/first', { archive_size_bytes: 9 });
    await insertResult(database.db, run, 'owner/second', { archive_size_bytes: 9 });
    expect(await stats()).toMatchObject({ largest_repository: 'owner/second' });
  });

  it('counts logs and shows the newest snapshot', async () => {
    await insertLog(database.db);
    await insertLog(database.db);
    const id = await insertSnapshot(database.db, { captured_at: '2026-03-02T00:00:00Z' });
    await insertSnapshot(database.db, { captured_at: '2026-03-01T00:00:00Z' });
    expect(await stats()).toMatchObject({ total_logs: 2, latest_analytics: { id } });
  });
});

describe('GET /api/metrics', () => {
  it('returns zeros for an empty database', async () => {
    expect(await metrics()).toEqual({
      runs: [],
      total_runs: 0,
      avg_duration_ms: 0,
      total_successful: 0,
      total_failed: 0,
      total_skipped: 0,
      distinct_repos: 0,
      total_logs: 0,
      total_size_bytes: 0,
      largest_archive_bytes: 0,
      largest_repository: '',
      latest_analytics: null,
    });
  });

  it('lists the runs of the window, oldest first, with only their totals', async () => {
    const counts = { status: 'completed', total_repos: 6, successful: 3, failed: 2, skipped: 1 };
    const old = { ...counts, duration_ms: 900, started_at: daysAgo(3) };
    await insertRun(database.db, old);
    const second = await insertRun(database.db, { ...counts, started_at: daysAgo(1.5) });
    const first = await insertRun(database.db, {
      ...counts,
      status: 'success',
      duration_ms: 100,
      started_at: daysAgo(0.5),
    });
    expect(await metrics('?days=2')).toMatchObject({
      runs: [
        { id: second, status: 'completed', duration_ms: 0 },
        {
          id: first,
          status: 'completed',
          started_at: daysAgo(0.5).replace('Z', '000Z'),
          total_repos: 6,
          successful: 3,
          failed: 2,
          skipped: 1,
          duration_ms: 100,
        },
      ],
      total_runs: 2,
      avg_duration_ms: 100,
      total_successful: 6,
      total_failed: 4,
      total_skipped: 2,
    });
  });

  it('includes a run that started exactly at the start of the window', async () => {
    await insertRun(database.db, { started_at: daysAgo(30) });
    expect(await metrics()).toMatchObject({ total_runs: 1 });
    client.deps.clock.advance(1);
    expect(await metrics()).toMatchObject({ total_runs: 0 });
  });

  it.each([
    ['', 30],
    ['?days=0', 30],
    ['?days=-5', 30],
    ['?days=3651', 3650],
    ['?days=99999999999999999999', 3650],
  ])('treats %j as %d days', async (query, days) => {
    await insertRun(database.db, { started_at: daysAgo(days - 0.5) });
    await insertRun(database.db, { started_at: daysAgo(days + 0.5) });
    expect(await metrics(query)).toMatchObject({ total_runs: 1 });
  });

  it('returns sizes, repositories, logs and analytics of all time', async () => {
    const run = await insertRun(database.db, { started_at: daysAgo(100) });
    await insertResult(database.db, run, 'owner/repo', { archive_size_bytes: 5_000_000_000 });
    await insertLog(database.db, { run_id: run });
    const id = await insertSnapshot(database.db, { run_id: run, captured_at: daysAgo(100) });
    expect(await metrics('?days=1')).toMatchObject({
      total_runs: 0,
      distinct_repos: 1,
      total_logs: 1,
      total_size_bytes: 5_000_000_000,
      largest_archive_bytes: 5_000_000_000,
      largest_repository: 'owner/repo',
      latest_analytics: { id },
    });
  });

  it('keeps 64-bit sums exact', async () => {
    const run = await insertRun(database.db);
    await sql(
      database.db,
      `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
       VALUES (${run}, 'a', 9223372036854775807), (${run}, 'b', 9223372036854775807)`,
    );
    const text = await readDashboardStats(database.db, {
      now: '2026-03-10T12:00:00Z',
      freshnessHours: 26,
      scheduleMs: null,
    });
    expect(text).toContain('"total_size_bytes":18446744073709551614,');
    expect(text).toContain('"largest_archive_bytes":9223372036854775807,');
  });
});
