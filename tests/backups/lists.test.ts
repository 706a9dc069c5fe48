import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, insertRun, insertSnapshot } from '../support/records.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = createClient({ db: database.db });
});
beforeEach(() => empty(database.db));

const bodyOf = async (path: string) => (await client.get(path)).body;

describe('GET /api/logs', () => {
  const at = (created_at: string) => ({ created_at });

  it('returns every field, with times to the microsecond, newest first', async () => {
    const run = await insertRun(database.db);
    const old = await insertLog(database.db, at('2026-03-01T10:00:00.123456Z'));
    const next = await insertLog(database.db, {
      ...at('2026-03-01T10:00:00.123457Z'),
      level: 'ERROR',
      message: 'it failed\n"badly" \u2028 ✗',
      repository: 'owner/repo',
      run_id: run,
    });
    const tied = await insertLog(database.db, at('2026-03-01T10:00:00.123457Z'));
    const plain = { level: 'info', message: '', repository: null, run_id: null };
    expect(await bodyOf('/api/logs')).toEqual({
      data: [
        { id: tied, created_at: '2026-03-01T10:00:00.123457Z', ...plain },
        {
          id: next,
          created_at: '2026-03-01T10:00:00.123457Z',
          level: 'ERROR',
          message: 'it failed\n"badly" \u2028 ✗',
          repository: 'owner/repo',
          run_id: run,
        },
        { id: old, created_at: '2026-03-01T10:00:00.123456Z', ...plain },
      ],
      pagination: { page: 1, limit: 50, total_items: 3, total_pages: 1 },
    });
  });

  it.each(['error', 'ERROR', 'eRRor'])(
    'finds logs of a level in any letter case: %s',
    async (level) => {
      await insertLog(database.db, { level: 'info' });
      const upper = await insertLog(database.db, { level: 'ERROR', ...at('2026-03-01T00:00:00Z') });
      const lower = await insertLog(database.db, { level: 'error', ...at('2026-03-02T00:00:00Z') });
      expect(await bodyOf(`/api/logs?level=${level}`)).toMatchObject({
        data: [{ id: lower }, { id: upper }],
        pagination: { total_items: 2 },
      });
    },
  );

  it('finds logs by run, and by run and level', async () => {
    const [run, other] = [await insertRun(database.db), await insertRun(database.db)];
    const info = await insertLog(database.db, { run_id: run, ...at('2026-03-01T00:00:00Z') });
    const warn = await insertLog(database.db, {
      run_id: run,
      level: 'warn',
      ...at('2026-03-02T00:00:00Z'),
    });
    await insertLog(database.db, { run_id: other, level: 'warn' });
    await insertLog(database.db, { level: 'warn' });
    expect(await bodyOf(`/api/logs?run_id=${run}`)).toMatchObject({
      data: [{ id: warn }, { id: info }],
      pagination: { total_items: 2 },
    });
    expect(await bodyOf(`/api/logs?run_id=${run}&level=WARN`)).toMatchObject({
      data: [{ id: warn }],
      pagination: { total_items: 1 },
    });
  });

  it.each(['7', '-1', '2147483648', '4294967296', '9'.repeat(400)])(
    'returns an empty list for run_id=%s, which no log has',
    async (id) => {
      await insertLog(database.db);
      expect(await bodyOf(`/api/logs?run_id=${id}`)).toMatchObject({
        data: [],
        pagination: { total_items: 0 },
      });
    },
  );

  it.each(['fatal', '', 'info ', 'ínfo'])('rejects the level %j', async (level) => {
    const { status, body } = await client.get(`/api/logs?level=${encodeURIComponent(level)}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: 'level must be one of info, warn, error, debug' });
  });
});

describe('GET /api/analytics', () => {
  const full = {
    captured_at: '2026-03-01T10:00:00.123456Z',
    head_commit: 'c0ffee',
    head_commit_message: 'Say hello',
    head_commit_at: '2026-02-28T23:59:59.999999Z',
    total_commits: 3,
    branch_count: 2,
    tag_count: 1,
    tracked_files: 40,
    total_blob_size_bytes: 5_000_000_000,
    avg_blob_size_bytes: 125_000_000,
    largest_blob_path: 'a/b c',
    largest_blob_size_bytes: 4_000_000_000,
    archive_count: 7,
    total_archive_size_bytes: 6_000_000_000,
    avg_archive_size_bytes: 857_142_857,
    largest_archive_path: 'owner__repo.bundle',
    largest_archive_size_bytes: 3_000_000_000,
  };

  it('returns 404 while there is no snapshot', async () => {
    for (const path of ['/api/analytics/latest', '/api/analytics/1']) {
      expect((await client.get(path)).status).toBe(404);
    }
  });

  it('returns every field of the newest snapshot', async () => {
    const id = await insertSnapshot(database.db, { run_id: 5, ...full });
    await insertSnapshot(database.db, { captured_at: '2026-02-01T00:00:00Z' });
    expect(await bodyOf('/api/analytics/latest')).toEqual({ id, run_id: 5, ...full });
  });

  it('returns NULL in old rows as empty or 0', async () => {
    const nulls = Object.keys(full).filter((name) => name !== 'captured_at');
    const row = Object.fromEntries(nulls.map((name) => [name, null]));
    await insertSnapshot(database.db, row);
    expect(await bodyOf('/api/analytics/latest')).toMatchObject({
      run_id: null,
      head_commit: '',
      head_commit_at: null,
      total_commits: 0,
      largest_archive_path: '',
      largest_archive_size_bytes: 0,
    });
  });

  it('returns the newest snapshot of a run', async () => {
    const newest = await insertSnapshot(database.db, { run_id: 4, ...full });
    await insertSnapshot(database.db, { run_id: 4, captured_at: '2026-02-01T00:00:00Z' });
    await insertSnapshot(database.db, { run_id: 5 });
    expect(await bodyOf('/api/analytics/4')).toMatchObject({ id: newest });
  });

  it('lists snapshots newest first, in pages', async () => {
    const older = await insertSnapshot(database.db, { captured_at: '2026-02-01T00:00:00Z' });
    const newest = await insertSnapshot(database.db, { captured_at: '2026-02-03T00:00:00Z' });
    const tied = await insertSnapshot(database.db, { captured_at: '2026-02-03T00:00:00Z' });
    expect(await bodyOf('/api/analytics/history?limit=2')).toMatchObject({
      data: [{ id: tied }, { id: newest }],
      pagination: { page: 1, limit: 2, total_items: 3, total_pages: 2 },
    });
    expect(await bodyOf('/api/analytics/history?limit=2&page=2')).toMatchObject({
      data: [{ id: older }],
    });
  });
});
