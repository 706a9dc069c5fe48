import { describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { createSystemFacts } from '../../lib/tools/system.ts';
import { everySource, setUpSource } from '../support/backup-sources.ts';
import { silentLog } from '../support/databases.ts';
import { emptyLedger, someDrill } from '../support/drills.ts';
import { insert, insertFix, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, faultOf } from '../support/tools.ts';

// One contract for both data sources: with the same rows, the tools give the same answers.

const system = createSystemFacts({
  archivePath: '/nowhere',
  findBackend: async () => null,
  fetch,
  log: silentLog,
});

describe.each(everySource)('the tools over %s', (_name, open) => {
  const source = setUpSource(open);

  it('get_dashboard_summary returns the figures of all runs', async () => {
    expect(await answerOf(source.deps, 'get_dashboard_summary')).toEqual({
      total_runs: 0,
      total_repos: 0,
      total_successful: 0,
      total_failed: 0,
      success_rate: '0.00%',
      last_run_status: '',
      last_run_at: null,
      total_size_bytes: 0,
      largest_repository: '',
      repositories: { total: 0, good: 0, stale: 0, failing: 0, lost: 0, never: 0, gone: 0 },
    });
    await insertRun(source.db, {
      total_repos: 3,
      successful: 2,
      failed: 1,
      started_at: '2026-03-01Z',
    });
    const last = await insertRun(source.db, {
      status: 'failed',
      started_at: '2026-03-02T03:04:05Z',
    });
    await insertResult(source.db, last, 'owner/big', { archive_size_bytes: 5_000_000_000 });
    expect(await answerOf(source.deps, 'get_dashboard_summary')).toEqual({
      total_runs: 2,
      total_repos: 3,
      total_successful: 2,
      total_failed: 1,
      success_rate: '66.67%',
      last_run_status: 'failed',
      last_run_at: '2026-03-02T03:04:05.000000Z',
      total_size_bytes: 5_000_000_000,
      largest_repository: 'owner/big',
      repositories: { total: 1, good: 1, stale: 0, failing: 0, lost: 0, never: 0, gone: 0 },
    });
  });

  it('get_backup_metrics returns the window by UTC day, newest first', async () => {
    const ended = { status: 'completed', total_repos: 4, successful: 3, failed: 1 };
    await insertRun(source.db, { ...ended, started_at: '2026-03-03T23:59:59Z', duration_ms: 100 });
    await insertRun(source.db, {
      ...ended,
      started_at: '2026-03-04T00:30:00+01:00',
      duration_ms: 301,
    });
    await insertRun(source.db, { ...ended, started_at: '2026-03-01T12:00:00Z', duration_ms: 0 });
    await insertRun(source.db, {
      started_at: '2026-03-04T01:00:00Z',
      duration_ms: 9,
      total_repos: null,
    });
    await insertRun(source.db, { ...ended, started_at: '2026-02-25T00:00:00Z' });
    expect(await answerOf(source.deps, 'get_backup_metrics', { days: 7 })).toEqual({
      period_days: 7,
      average_run_duration_ms: 201,
      aggregated_success_rate: 0.75,
      history: [
        { date: '2026-03-04', runs: 1, successful: 0, failed: 0, avg_duration_ms: 0 },
        { date: '2026-03-03', runs: 2, successful: 6, failed: 2, avg_duration_ms: 201 },
        { date: '2026-03-01', runs: 1, successful: 3, failed: 1, avg_duration_ms: 0 },
      ],
    });
    expect(await answerOf(source.deps, 'get_backup_metrics')).toMatchObject({ period_days: 30 });
  });

  it('get_backup_metrics returns zeros without runs', async () => {
    expect(await answerOf(source.deps, 'get_backup_metrics', { days: '3650' })).toEqual({
      period_days: 3650,
      average_run_duration_ms: 0,
      aggregated_success_rate: 0,
      history: [],
    });
  });

  it('list_tracked_repositories returns a page, largest archive first', async () => {
    const run = await insertRun(source.db);
    await insertResult(source.db, run, 'owner/small', { archive_size_bytes: 1 });
    await insertResult(source.db, run, 'owner/big', {
      archive_size_bytes: 9,
      commit_hash: 'c0ffee',
      created_at: '2026-03-01T00:00:00Z',
    });
    expect(await answerOf(source.deps, 'list_tracked_repositories', { limit: 1 })).toEqual({
      data: [
        {
          full_name: 'owner/big',
          last_status: 'completed',
          last_commit_hash: 'c0ffee',
          archive_size_bytes: 9,
          last_backed_up: '2026-03-01T00:00:00.000000Z',
          state: 'stale',
          last_good_at: '2026-03-01T00:00:00.000000Z',
          last_good_age_ms: expect.any(Number),
          last_good_version: null,
          last_checked_at: '2026-03-01T00:00:00.000000Z',
          failing_since: null,
          consecutive_failures: 0,
          error_message: '',
          fault: null,
          source: null,
          last_proof: null,
        },
      ],
      pagination: { page: 1, limit: 1, total_items: 2, total_pages: 2 },
      truncated: true,
      more: '1 further repositories: call again with the same arguments and cursor "1"',
      next: '1',
    });
    const rest = await answerOf(source.deps, 'list_tracked_repositories', {
      limit: 1,
      cursor: '1',
    });
    expect(rest).toMatchObject({ data: [{ full_name: 'owner/small' }] });
    expect(rest).not.toHaveProperty('truncated');
    expect(await answerOf(source.deps, 'list_tracked_repositories', { page: 9 })).toMatchObject({
      data: [],
      pagination: { page: 9, limit: 50 },
    });
  });

  it('list_backup_runs returns runs newest first, optionally with a status', async () => {
    const at = (day: number) => ({ started_at: `2026-03-0${day}T00:00:00Z` });
    const old = await insertRun(source.db, { status: 'success', ...at(1) });
    const failed = await insertRun(source.db, { status: 'failed', error_message: 'no', ...at(2) });
    const done = await insertRun(source.db, {
      status: 'completed',
      ...at(3),
      completed_at: '2026-03-03Z',
    });
    const ids = async (given: object) => {
      const { data, pagination } = await answerOf(source.deps, 'list_backup_runs', given);
      return [(data as { id: number }[]).map(({ id }) => id), pagination];
    };
    expect(await ids({})).toEqual([
      [done, failed, old],
      { page: 1, limit: 20, total_items: 3, total_pages: 1 },
    ]);
    expect(await ids({ status: 'completed', limit: 1, page: 2 })).toEqual([
      [old],
      { page: 2, limit: 1, total_items: 2, total_pages: 2 },
    ]);
    const { data } = await answerOf(source.deps, 'list_backup_runs', { status: 'failed' });
    expect(data).toEqual([
      {
        id: failed,
        started_at: '2026-03-02T00:00:00.000000Z',
        completed_at: null,
        status: 'failed',
        duration_ms: 0,
        total_repos: 0,
        successful: 0,
        failed: 0,
        skipped: 0,
        unread_sources: [],
        error_message: 'no',
      },
    ]);
    expect(await ids({ status: 'running' })).toMatchObject([[], { total_items: 0 }]);
  });

  it('list_backup_runs separates runs with and without failures, whatever their status', async () => {
    const at = (day: number) => ({ started_at: `2026-03-0${day}T00:00:00Z` });
    const whole = await insertRun(source.db, { status: 'failed', ...at(1) });
    const partly = await insertRun(source.db, { status: 'completed', failed: 2, ...at(2) });
    const good = await insertRun(source.db, { status: 'completed', failed: 0, ...at(3) });
    const old = await insertRun(source.db, { status: 'success', failed: null, ...at(4) });
    const ids = async (given: object) =>
      ((await answerOf(source.deps, 'list_backup_runs', given)).data as { id: number }[]).map(
        ({ id }) => id,
      );
    expect(await ids({ has_failures: true })).toEqual([partly, whole]);
    expect(await ids({ has_failures: 'true', status: 'completed' })).toEqual([partly]);
    expect(await ids({ has_failures: false })).toEqual([old, good]);
    expect(await ids({ has_failures: 'false', limit: 1, cursor: 1 })).toEqual([good]);
    expect(await ids({ limit: 3, cursor: '1' })).toEqual([good, partly, whole]);
    expect(await faultOf(source.deps, 'list_backup_runs', { has_failures: 'maybe' })).toMatch(
      /has_failures: must be true or false/,
    );
  });

  it('get_backup_run_details returns the run, its results and its fixes', async () => {
    const counts = { total_repos: 5, successful: 3, skipped: 1, failed: 1 };
    const run = await insertRun(source.db, { status: 'completed', ...counts });
    const first = await insertResult(source.db, run, 'owner/b', {
      created_at: '2026-03-01T00:00:00Z',
    });
    const empty = await insertResult(source.db, run, 'owner/e', { status: 'empty' });
    const failed = await insertResult(source.db, run, 'owner/a', { status: 'failed' });
    const last = await insertResult(source.db, run, 'owner/c');
    const fix = await insertFix(source.db, [run], { title: 'Renew the token', author: 'me' });
    const answer = await answerOf(source.deps, 'get_backup_run_details', { run_id: String(run) });
    expect(answer).toMatchObject({
      run: { id: run, status: 'completed' },
      message: `run ${run} completed, 5 repositories: 3 successful, of which 1 empty (nothing to archive); 1 unchanged; 1 failed`,
      result_counts: { completed: 2, empty: 1, failed: 1 },
      // Failures first, then by id.
      results: [{ id: failed }, { id: first }, { id: empty }, { id: last }],
      fixes: [
        { id: fix, title: 'Renew the token', commit_hash: '', author: 'me', affected_runs: [run] },
      ],
    });
    expect((answer.results as unknown[])[1]).toEqual({
      id: first,
      run_id: run,
      repo_full_name: 'owner/b',
      status: 'completed',
      created_at: '2026-03-01T00:00:00.000000Z',
      duration_ms: 0,
      commit_hash: '',
      archive_size_bytes: 0,
      error_message: '',
    });
  });

  it('get_backup_run_details fails for a run that does not exist', async () => {
    expect(await faultOf(source.deps, 'get_backup_run_details', { run_id: 2_147_483_647 })).toBe(
      'backup run 2147483647 does not exist: list_backup_runs shows which do',
    );
  });

  it('readLatestRun returns the latest run with its fixes', async () => {
    const { signal } = new AbortController();
    expect(await source.deps.backups.readLatestRun(signal)).toBeNull();
    await insertRun(source.db, { started_at: '2026-03-01T00:00:00Z' });
    const latest = await insertRun(source.db, { started_at: '2026-03-02T00:00:00Z' });
    const fix = await insertFix(source.db, [latest]);
    expect(await source.deps.backups.readLatestRun(signal)).toMatchObject({
      id: latest,
      fixes: [{ id: fix }],
    });
  });

  it('get_system_health names the repositories that need a proof most, and the open incidents', async () => {
    await emptyLedger(source.db);
    const run = await insertRun(source.db);
    for (const name of ['o/never', 'o/fresh', 'o/broken', 'o/old']) {
      await insertResult(source.db, run, name, { created_at: '2026-03-01T00:00:00Z' });
    }
    for (const drill of [
      { repository: 'o/broken', startedAt: '2026-02-20T01:00:00.000Z' },
      { repository: 'O/Fresh', startedAt: '2026-02-28T01:00:00.000Z', storage: 's3://b/git' },
      { repository: 'o/old', startedAt: '2026-01-01T01:00:00.000Z' },
      {
        ...{ repository: 'o/broken', startedAt: '2026-03-01T01:00:00.000Z' },
        ...{ outcome: 'failed' as const, reason: 'CORRUPT' },
      },
    ]) {
      await recordDrill(source.db, someDrill(drill), null);
    }
    for (const incident of [
      { rule: 'drill_failed', subject: '', summary: 'a drill failed' },
      { rule: 'run_failed', subject: '', resolved_at: '2026-03-02T00:00:00Z' },
    ]) {
      await insert(source.db, 'incidents', { ...incident, opened_at: '2026-03-01T02:00:00Z' });
    }
    await sql(
      source.db,
      `INSERT INTO incident_repositories (incident_id, repository_name, reason, since)
       SELECT id, 'o/broken', 'CORRUPT', opened_at FROM incidents WHERE rule = 'drill_failed'`,
    );
    const proof = { storage: 'folder', failed_at: null };
    expect(await answerOf({ ...source.deps, system }, 'get_system_health')).toMatchObject({
      restore_proofs: {
        ...{ proven: 1, overdue: 1, never: 1, failing: 1 },
        oldest_at: '2026-01-01T01:00:00.000000Z',
        most_needed: [
          {
            ...{ full_name: 'o/broken', state: 'failing', storage: 'folder' },
            proven_at: '2026-02-20T01:00:00.000000Z',
            failed_at: '2026-03-01T01:00:00.000000Z',
          },
          { ...proof, full_name: 'o/never', state: 'never', proven_at: null, storage: null },
          {
            ...{ ...proof, full_name: 'o/old', state: 'overdue' },
            proven_at: '2026-01-01T01:00:00.000000Z',
          },
          {
            ...{ ...proof, full_name: 'o/fresh', state: 'proven', storage: 's3://b/git' },
            proven_at: '2026-02-28T01:00:00.000000Z',
          },
        ],
      },
      incidents: [
        {
          ...{ rule: 'drill_failed', summary: 'a drill failed', acknowledged: false },
          opened_at: '2026-03-01T02:00:00.000000Z',
          ...{ repository_count: 1, repositories: ['o/broken'] },
        },
      ],
    });
  });

  it('get_system_health names at most ten repositories that need a proof', async () => {
    const run = await insertRun(source.db);
    for (let n = 10; n <= 21; n++) await insertResult(source.db, run, `many/${n}`);
    const { restore_proofs } = await answerOf({ ...source.deps, system }, 'get_system_health');
    const { most_needed } = restore_proofs as { most_needed: { full_name: string }[] };
    expect(most_needed.map(({ full_name }) => full_name)).toEqual(
      Array.from({ length: 10 }, (_, n) => `many/${n + 10}`),
    );
  });

  it('checkDatabase reports a connected database with its latency', async () => {
    expect(await source.deps.backups.checkDatabase(new AbortController().signal)).toMatchObject({
      status: 'connected',
      latency_ms: 0,
    });
  });
});
