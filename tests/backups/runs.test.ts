import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertFix, insertResult, insertRun } from '../support/records.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = createClient({ db: database.db });
});
beforeEach(() => empty(database.db));

const full = {
  status: 'failed',
  started_at: '2026-03-01T10:00:00.123456Z',
  completed_at: '2026-03-01T10:05:00.000001Z',
  duration_ms: 299_877,
  total_repos: 9,
  successful: 4,
  failed: 2,
  skipped: 3,
  error_message: 'two repositories failed',
  heartbeat_at: '2026-03-01T10:04:59.000002Z',
};

describe('GET /api/backups', () => {
  it('returns an empty page for an empty database', async () => {
    const { status, body } = await client.get('/api/backups');
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [],
      pagination: { page: 1, limit: 50, total_items: 0, total_pages: 0 },
    });
  });

  it('returns every field of a run, with times to the microsecond', async () => {
    const id = await insertRun(database.db, full);
    const { body } = await client.get('/api/backups');
    expect(body).toMatchObject({ data: [{ id, ...full }] });
  });

  it('marks runs that someone stopped, here and in the metrics', async () => {
    for (const [status, stopped_by] of [
      ['failed', 'SIGINT'],
      ['failed', 'SIGHUP'],
      ['failed', null],
      ['completed', null],
    ] as const) {
      await insertRun(database.db, { status, stopped_by });
    }
    const isStopped = (runs: { is_stopped: boolean }[]) => runs.map((run) => run.is_stopped);
    const { data } = (await client.get('/api/backups')).body as { data: { is_stopped: boolean }[] };
    expect(isStopped(data).reverse()).toEqual([true, false, false, false]);
    const { runs } = (await client.get('/api/metrics')).body as { runs: typeof data };
    expect(isStopped(runs)).toEqual([true, false, false, false]);
  });

  it('orders by start, then by id, both descending', async () => {
    const at = (minute: number) => ({ started_at: `2026-03-01T10:0${minute}:00Z` });
    const [first, second, tied, last] = [
      await insertRun(database.db, at(1)),
      await insertRun(database.db, at(3)),
      await insertRun(database.db, at(3)),
      await insertRun(database.db, at(2)),
    ];
    const { body } = await client.get('/api/backups');
    expect(body).toMatchObject({ data: [tied, second, last, first].map((id) => ({ id })) });
  });

  it('returns and counts only runs that match all filters', async () => {
    const [good, bad, failed, running] = [
      await insertRun(database.db, { status: 'completed', started_at: '2026-03-01T00:00:00Z' }),
      await insertRun(database.db, {
        status: 'completed',
        failed: 1,
        started_at: '2026-03-02T00:00:00Z',
      }),
      await insertRun(database.db, { status: 'failed', started_at: '2026-03-03T00:00:00Z' }),
      await insertRun(database.db, { status: 'running', started_at: '2026-03-04T00:00:00Z' }),
    ];
    const found = async (query: string) => {
      const { body } = await client.get(`/api/backups?${query}`);
      const { data, pagination } = body as {
        data: { id: number }[];
        pagination: { total_items: number };
      };
      const ids = data.map(({ id }) => id);
      expect(pagination.total_items).toBe(ids.length);
      return ids;
    };
    expect(await found('status=completed')).toEqual([bad, good]);
    expect(await found('has_failures=true')).toEqual([failed, bad]);
    expect(await found('has_failures=false')).toEqual([running, good]);
    expect(await found('status=completed&has_failures=true')).toEqual([bad]);
    expect(await found('from=2026-03-02T00:00:00Z&to=2026-03-04T00:00:00Z')).toEqual([failed, bad]);
    expect(await found('from=2026-03-04T01:00:00%2B01:00')).toEqual([running]);
    expect(await found('from=2026-03-04T23:59:00%2B23:59')).toEqual([running]);
    expect(await found('to=2026-03-02')).toEqual([good]);
  });

  it.each(['status=lost', 'has_failures=maybe', 'from=yesterday', 'to=0000-01-01', 'status='])(
    'rejects %s',
    async (query) => {
      expect((await client.get(`/api/backups?${query}`)).status).toBe(400);
    },
  );

  it('returns pages, and counts them', async () => {
    for (let n = 0; n < 5; n++) await insertRun(database.db);
    const { body } = await client.get('/api/backups?page=3&limit=2');
    expect(body).toMatchObject({
      data: [{ id: 1 }],
      pagination: { page: 3, limit: 2, total_items: 5, total_pages: 3 },
    });
  });

  it('returns NULL in old rows as empty or 0, and success as completed', async () => {
    const id = await insertRun(database.db, {
      status: 'success',
      total_repos: null,
      successful: null,
      failed: null,
      skipped: null,
      duration_ms: null,
      error_message: null,
      heartbeat_at: null,
    });
    const { body } = await client.get('/api/backups');
    expect(body).toMatchObject({
      data: [
        {
          id,
          status: 'completed',
          completed_at: null,
          total_repos: 0,
          successful: 0,
          failed: 0,
          skipped: 0,
          unread_sources: [],
          duration_ms: 0,
          error_message: '',
        },
      ],
    });
  });

  it('returns the limits to which parameters are clamped', async () => {
    const paged = async (query: string) => (await client.get(`/api/backups?${query}`)).body;
    expect(await paged('page=0&limit=0')).toMatchObject({ pagination: { page: 1, limit: 50 } });
    expect(await paged('page=-7&limit=-1')).toMatchObject({ pagination: { page: 1, limit: 50 } });
    expect(await paged('limit=501')).toMatchObject({ pagination: { limit: 500 } });
    expect(await paged('limit=500')).toMatchObject({ pagination: { limit: 500 } });
  });

  it('returns an empty page past the end, with the true total', async () => {
    await insertRun(database.db);
    const { body } = await client.get('/api/backups?page=2');
    expect(body).toMatchObject({ data: [], pagination: { page: 2, total_items: 1 } });
  });
});

describe('GET /api/backups/latest', () => {
  it('returns null when no run exists', async () => {
    expect((await client.get('/api/backups/latest')).body).toEqual({ run: null });
  });

  it('returns the run that started last, not the one with the highest id', async () => {
    const latest = await insertRun(database.db, { started_at: '2026-03-02T00:00:00Z' });
    await insertRun(database.db, { started_at: '2026-03-01T00:00:00Z' });
    const { body } = await client.get('/api/backups/latest');
    expect(body).toMatchObject({ run: { id: latest, fixes: [] } });
  });

  it('includes the fixes linked to the run, each with all its runs', async () => {
    const [older, latest] = [await insertRun(database.db), await insertRun(database.db)];
    const second = await insertFix(database.db, [latest], { title: 'one', commit_hash: null });
    const first = await insertFix(database.db, [latest, older], {
      title: 'two',
      commit_hash: 'abc',
      author: 'Ada',
    });
    await insertFix(database.db, [older], { title: 'of another run' });
    const { body } = await client.get('/api/backups/latest');
    expect(body).toMatchObject({
      run: {
        id: latest,
        fixes: [
          { id: second, title: 'one', commit_hash: '', author: '', affected_runs: [latest] },
          {
            id: first,
            title: 'two',
            commit_hash: 'abc',
            author: 'Ada',
            affected_runs: [older, latest],
          },
        ],
      },
    });
  });
});

describe('GET /api/backups/:id', () => {
  it('returns the run and its results by id', async () => {
    const run = await insertRun(database.db, full);
    const other = await insertRun(database.db);
    const late = await insertResult(database.db, run, 'owner/late', {
      created_at: '2026-03-01T10:00:02.654321Z',
      commit_hash: 'c0ffee',
      archive_size_bytes: 6_000_000_000,
      duration_ms: 5_000_000_000,
      status: 'too_large',
      error_message: 'too large',
    });
    const early = await insertResult(database.db, run, 'owner/a/b', {
      created_at: '2026-03-01T10:00:01Z',
      status: 'success',
      commit_hash: null,
      archive_size_bytes: null,
      duration_ms: null,
      error_message: null,
    });
    await insertResult(database.db, other, 'owner/other');
    const { status, body } = await client.get(`/api/backups/${run}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      run: { id: run, ...full, unread_sources: [], is_stopped: false, progress: null },
      results: [
        {
          id: late,
          run_id: run,
          repo_full_name: 'owner/late',
          status: 'too_large',
          created_at: '2026-03-01T10:00:02.654321Z',
          duration_ms: 5_000_000_000,
          commit_hash: 'c0ffee',
          archive_size_bytes: 6_000_000_000,
          error_message: 'too large',
          incomplete: null,
          tries: null,
        },
        {
          id: early,
          run_id: run,
          repo_full_name: 'owner/a/b',
          status: 'success',
          created_at: '2026-03-01T10:00:01.000000Z',
          duration_ms: 0,
          commit_hash: '',
          archive_size_bytes: 0,
          error_message: '',
          incomplete: null,
          tries: null,
        },
      ],
    });
  });

  it('returns an empty list for a run without results', async () => {
    const id = await insertRun(database.db);
    expect((await client.get(`/api/backups/${id}`)).body).toMatchObject({ results: [] });
  });

  it.each(['2', '0', '-1', '2147483648', '9'.repeat(400)])(
    'returns 404 for the id %s, which no run has',
    async (id) => {
      await insertRun(database.db);
      const { status, body } = await client.get(`/api/backups/${id}`);
      expect(status).toBe(404);
      expect(body).toMatchObject({ error: 'backup run not found' });
    },
  );
});
