import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');
let run: number;

beforeEach(async () => {
  await empty(database.db);
  run = await insertRun(database.db);
});

const client = (environment = {}) =>
  createClient({ db: database.db, environment, clock: createTestClock(NOW) });
const bodyOf = async (path: string) => (await client().get(path)).body;

/** A time of March 2026, as answers show it. */
const at = (day: number, hour = 0) =>
  new Date(Date.UTC(2026, 2, day, hour)).toISOString().replace('Z', '000Z');

const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString();

const result = (repository: string, created_at: string, row: Record<string, SqlValue> = {}) =>
  insertResult(database.db, run, repository, { created_at, ...row });
const failure = (repository: string, created_at: string, error_message = 'no route to host') =>
  result(repository, created_at, { status: 'failed', error_message });

/** Notes that a run found a repository good, as the worker does. */
const found = (repository: string, checkedAt: string | null) =>
  sql(
    database.db,
    'INSERT INTO worker_repo_state (repo_full_name, checked_at) VALUES ($1, $2::timestamptz)',
    [repository, checkedAt],
  );

/** A good, a stale, two failing repositories, one that is lost, and two that were never good. */
async function insertOneOfEach(): Promise<void> {
  await result('acme/good', at(10, 11), { archive_size_bytes: 50 });
  await result('acme/stale', at(2));
  await result('acme/failing', at(4), { archive_size_bytes: 70 });
  await failure('acme/failing', at(5));
  await result('other/failing-longer', at(3));
  await failure('other/failing-longer', at(10, 9));
  await result('other/lost', at(9));
  await result('other/lost', at(10), { status: 'failed', fault: 'missing' });
  await failure('acme/never-b', at(9));
  await failure('acme/never-a', at(10));
}

async function list(query: string): Promise<{ names: string[]; total: number }> {
  const body = (await bodyOf(`/api/repos?${query}`)) as {
    data: { full_name: string }[];
    pagination: { total_items: number };
  };
  return {
    names: body.data.map(({ full_name }) => full_name),
    total: body.pagination.total_items,
  };
}

describe('GET /api/repos', () => {
  it('returns one entry for each repository, from its newest result', async () => {
    await result('owner/repo', '2026-03-02T00:00:00.000001Z', {
      status: 'too_large',
      commit_hash: 'new',
      archive_size_bytes: 5_000_000_000,
      error_message: 'too large to push',
    });
    await result('owner/repo', '2026-03-01T00:00:00Z');
    expect(await bodyOf('/api/repos')).toEqual({
      data: [
        {
          full_name: 'owner/repo',
          last_status: 'too_large',
          last_commit_hash: 'new',
          archive_size_bytes: 5_000_000_000,
          last_backed_up: '2026-03-02T00:00:00.000001Z',
          state: 'failing',
          last_good_at: '2026-03-01T00:00:00.000000Z',
          last_good_age_ms: 9.5 * 86_400_000,
          last_good_version: null,
          last_checked_at: '2026-03-02T00:00:00.000001Z',
          failing_since: '2026-03-02T00:00:00.000001Z',
          consecutive_failures: 1,
          error_message: 'too large to push',
          ...{ fault: null, last_proof: null, last_drill: null },
        },
      ],
      pagination: { page: 1, limit: 50, total_items: 1, total_pages: 1 },
    });
  });

  it('uses the highest id among results of the same time', async () => {
    const created_at = '2026-03-01T00:00:00Z';
    await result('owner/repo', created_at, { commit_hash: 'first' });
    await result('owner/repo', created_at, { commit_hash: 'second' });
    expect(await bodyOf('/api/repos')).toMatchObject({ data: [{ last_commit_hash: 'second' }] });
  });

  it('orders by archive size, largest first, then newest, and pages', async () => {
    const sizes = { 'owner/b': 5, 'owner/a': 5, 'owner/big': 9, 'owner/old/nested': null };
    for (const [name, bytes] of Object.entries(sizes)) {
      await insertResult(database.db, run, name, { archive_size_bytes: bytes, commit_hash: null });
    }
    const order = ['owner/big', 'owner/a', 'owner/b', 'owner/old/nested'];
    expect(await bodyOf('/api/repos')).toMatchObject({
      data: order.map((full_name) => ({ full_name, last_commit_hash: '' })),
    });
    expect(await bodyOf('/api/repos?page=2&limit=3')).toMatchObject({
      data: [{ full_name: 'owner/old/nested', archive_size_bytes: 0 }],
      pagination: { total_items: 4, total_pages: 2 },
    });
  });

  it('returns an empty page of an empty database', async () => {
    expect(await bodyOf('/api/repos')).toMatchObject({ data: [], pagination: { total_items: 0 } });
  });

  it('finds repositories by a part of their name, literally and in any letter case', async () => {
    for (const name of ['acme/100%_done', 'acme/100xydone', 'Acme/Über', 'other/thing']) {
      await result(name, at(10));
    }
    expect((await list('text=ACME&order=name')).names).toHaveLength(3);
    expect((await list('text=%25_D')).names).toEqual(['acme/100%_done']);
    expect((await list('text=%C3%BCb')).names).toEqual(['Acme/Über']);
    expect(await list('text=none')).toEqual({ names: [], total: 0 });
    expect((await list('text=')).total).toBe(4);
  });

  it.each([
    ['state=good', ['acme/good']],
    ['state=stale', ['acme/stale']],
    ['state=lost', ['other/lost']],
    ['state=failing&order=worst', ['other/failing-longer', 'acme/failing']],
    ['state=never&order=name', ['acme/never-a', 'acme/never-b']],
    ['state=failing&text=acme', ['acme/failing']],
    ['state=good&text=other', []],
  ])('finds repositories by %s, and counts only those', async (query, names) => {
    await insertOneOfEach();
    expect(await list(query)).toEqual({ names, total: names.length });
    expect((await list(`${query}&limit=1`)).total).toBe(names.length);
  });

  it('orders the worst first: never, lost, failing, stale, good, the longest not good first', async () => {
    await insertOneOfEach();
    const worst = [
      'acme/never-a',
      'acme/never-b',
      'other/lost',
      'other/failing-longer',
      'acme/failing',
      'acme/stale',
      'acme/good',
    ];
    expect((await list('order=worst')).names).toEqual(worst);
    expect((await list('order=worst&limit=2&page=2')).names).toEqual(worst.slice(2, 4));
  });

  it('orders by name in any letter case, and by the newest result', async () => {
    await result('b/x', at(3));
    await result('A/x', at(1));
    await result('c/x', at(2));
    expect((await list('order=name')).names).toEqual(['A/x', 'b/x', 'c/x']);
    expect((await list('order=newest')).names).toEqual(['b/x', 'c/x', 'A/x']);
  });

  it.each(['state=bad', 'state=', 'order=random', 'order=name&order=name', 'text=a&text=b'])(
    'rejects %s',
    async (query) => {
      expect((await client().get(`/api/repos?${query}`)).status).toBe(400);
    },
  );

  it.each([
    ['more than 200 characters', 'x'.repeat(201)],
    ['NUL', 'a%00b'],
  ])('rejects a text with %s', async (_what, text) => {
    expect((await client().get(`/api/repos?text=${text}`)).status).toBe(400);
  });
});

describe('the state of a repository', () => {
  const stateOf = async () => {
    const { data } = (await bodyOf('/api/repos')) as { data: [Record<string, unknown>] };
    const [{ state, last_good_at, last_checked_at, ...rest }] = data;
    const { failing_since, consecutive_failures, error_message } = rest;
    return {
      state,
      last_good_at,
      last_checked_at,
      failing_since,
      consecutive_failures,
      error_message,
    };
  };
  const noFailure = { failing_since: null, consecutive_failures: 0, error_message: '' };

  it.each(['completed', 'success', 'empty'])('is good after the result %s', async (status) => {
    await failure('acme/app', at(9));
    await result('acme/app', at(10), { status, error_message: 'left over' });
    expect(await stateOf()).toEqual({
      state: 'good',
      last_good_at: at(10),
      last_checked_at: at(10),
      ...noFailure,
    });
  });

  it.each(['failed', 'too_large'])('is failing after the result %s', async (status) => {
    await failure('acme/app', at(6), 'before the last good one');
    await result('acme/app', at(7));
    await failure('acme/app', at(8), 'first');
    await failure('acme/app', at(9), 'second');
    await result('acme/app', at(10), { status, error_message: 'third' });
    expect(await stateOf()).toEqual({
      state: 'failing',
      last_good_at: at(7),
      last_checked_at: at(10),
      failing_since: at(8),
      consecutive_failures: 3,
      error_message: 'third',
    });
  });

  it('is never if nothing was good: failing since the first result', async () => {
    await failure('acme/app', at(8));
    await failure('acme/app', at(9), 'second');
    expect(await stateOf()).toEqual({
      state: 'never',
      last_good_at: null,
      last_checked_at: at(9),
      failing_since: at(8),
      consecutive_failures: 2,
      error_message: 'second',
    });
  });

  it('takes the later of a completed and an empty result as the last good one', async () => {
    await result('acme/app', at(6), { status: 'empty' });
    await result('acme/app', at(7));
    await failure('acme/app', at(8));
    expect(await stateOf()).toMatchObject({ state: 'failing', last_good_at: at(7) });
    await result('acme/app', at(7, 1), { status: 'empty' });
    expect(await stateOf()).toMatchObject({ last_good_at: at(7, 1), failing_since: at(8) });
  });

  it('is good again once a run finds it unchanged, whatever its newest result is', async () => {
    await result('acme/app', at(8));
    await failure('acme/app', at(9));
    await found('acme/app', at(10));
    expect(await stateOf()).toEqual({
      state: 'good',
      last_good_at: at(10),
      last_checked_at: at(10),
      ...noFailure,
    });
  });

  it('is failing if it failed after a run found it unchanged: since the first failure after that', async () => {
    await result('acme/app', at(5));
    await failure('acme/app', at(6));
    await found('acme/app', at(7));
    await failure('acme/app', at(8));
    await failure('acme/app', at(9));
    expect(await stateOf()).toMatchObject({
      state: 'failing',
      last_good_at: at(7),
      last_checked_at: at(9),
      failing_since: at(8),
      consecutive_failures: 2,
    });
  });

  it('is failing, not never, if a run found it unchanged and no good result is left', async () => {
    await found('acme/app', at(7));
    await failure('acme/app', at(8));
    expect(await stateOf()).toMatchObject({ state: 'failing', last_good_at: at(7) });
  });

  it('matches what the worker noted in any letter case; the latest note counts', async () => {
    await result('Acme/App', at(1));
    await found('acme/app', at(9));
    await found('ACME/app', at(10));
    await found('acme/APP', null);
    expect(await stateOf()).toMatchObject({ state: 'good', last_good_at: at(10) });
  });

  it('is stale after 26 hours without anything good, and no earlier', async () => {
    await result('acme/app', at(9, 10));
    expect(await stateOf()).toMatchObject({ state: 'good' });
    await sql(database.db, "UPDATE backup_results SET created_at = created_at - interval '1 us'");
    expect(await stateOf()).toEqual({
      state: 'stale',
      last_good_at: '2026-03-09T09:59:59.999999Z',
      last_checked_at: '2026-03-09T09:59:59.999999Z',
      ...noFailure,
    });
  });

  it('is stale after FRESHNESS_HOURS', async () => {
    await result('acme/app', at(10, 10));
    const read = async (hours: string) =>
      (await client({ FRESHNESS_HOURS: hours }).get('/api/repos/acme/app')).body;
    expect(await read('2')).toMatchObject({ state: 'good' });
    expect(await read('1')).toMatchObject({ state: 'stale' });
  });

  describe('with runs that are usually 7 days apart', () => {
    const insertRuns = (days: readonly number[], status = 'completed') =>
      Promise.all(days.map((ago) => insertRun(database.db, { status, started_at: daysAgo(ago) })));

    it('is stale after 182 hours, whatever FRESHNESS_HOURS is', async () => {
      await insertRuns([1, 8, 15, 22]);
      await result('acme/app', at(2, 22));
      expect(await stateOf()).toMatchObject({ state: 'good' });
      await sql(database.db, "UPDATE backup_results SET created_at = created_at - interval '1 us'");
      expect(await stateOf()).toMatchObject({ state: 'stale' });
      expect(await bodyOf('/api/overview')).toMatchObject({
        freshness_hours: 182,
        repositories: { stale: 1 },
      });
    });

    it('goes by FRESHNESS_HOURS if that is more', async () => {
      await insertRuns([1, 8, 15, 22]);
      await result('acme/app', at(2, 21));
      const { body } = await client({ FRESHNESS_HOURS: '183' }).get('/api/repos/acme/app');
      expect(body).toMatchObject({ state: 'good' });
    });

    it('learns nothing from fewer than 3 finished runs', async () => {
      await sql(database.db, 'TRUNCATE backup_runs CASCADE');
      await insertRuns([8, 15]);
      run = (await insertRuns([1], 'running'))[0] ?? 0;
      await result('acme/app', at(5));
      expect(await stateOf()).toMatchObject({ state: 'stale' });
    });
  });

  it('learns at most a month from runs that are further apart', async () => {
    for (const ago of [1, 200, 400, 600]) {
      await insertRun(database.db, { status: 'completed', started_at: daysAgo(ago) });
    }
    expect(await bodyOf('/api/overview')).toMatchObject({ freshness_hours: 806 });
  });

  it.each(['missing', 'emptied'])('is lost after the fault %s', async (fault) => {
    await result('acme/app', at(8));
    await result('acme/app', at(9), { status: 'failed', fault, error_message: 'gone' });
    expect(await stateOf()).toMatchObject({
      state: 'lost',
      last_good_at: at(8),
      failing_since: at(9),
      consecutive_failures: 1,
      error_message: 'gone',
    });
    expect(await bodyOf('/api/repos/acme/app')).toMatchObject({ fault });
  });

  it('is failing, and no longer lost, when it fails for another reason', async () => {
    await result('acme/app', at(7));
    await result('acme/app', at(8), { status: 'failed', fault: 'missing' });
    await result('acme/app', at(9), { status: 'failed', fault: 'network' });
    expect(await stateOf()).toMatchObject({ state: 'failing', failing_since: at(8) });
  });

  it('is good again once a run finds it unchanged after it was lost', async () => {
    await result('acme/app', at(7));
    await result('acme/app', at(8), { status: 'failed', fault: 'missing' });
    await found('acme/app', at(10, 10));
    expect(await stateOf()).toMatchObject({ state: 'good', ...noFailure });
    expect(await bodyOf('/api/repos/acme/app')).toMatchObject({ fault: null });
  });

  it('was never good if it was lost before the first backup', async () => {
    await result('acme/app', at(8), { status: 'failed', fault: 'missing' });
    expect(await stateOf()).toMatchObject({ state: 'never' });
  });

  it('names the newest version that can be restored, in any letter case', async () => {
    await result('acme/app', at(10));
    for (const [repository, version, pruned_at] of [
      ['Acme/App', 1, null],
      ['Acme/App', 2, null],
      ['Acme/App', 3, at(9)],
      ['acme/other', 4, null],
    ] as const) {
      await sql(
        database.db,
        'INSERT INTO archive_versions (repo_full_name, version, pruned_at) VALUES ($1, $2::int, $3::timestamptz)',
        [repository, version, pruned_at],
      );
    }
    expect(await bodyOf('/api/repos/acme/app')).toMatchObject({
      last_good_version: 2,
      last_good_age_ms: 12 * 3_600_000,
    });
  });

  it('tells results of the same time apart by their ids', async () => {
    await failure('acme/app', at(10), 'before');
    await result('acme/app', at(10));
    expect(await stateOf()).toMatchObject({ state: 'good' });
    await failure('acme/app', at(10), 'after');
    expect(await stateOf()).toMatchObject({
      state: 'failing',
      failing_since: at(10),
      consecutive_failures: 1,
      error_message: 'after',
    });
  });

  it('counts at most 1,000 failures, and still knows the first', async () => {
    await sql(
      database.db,
      `INSERT INTO backup_results (run_id, repo_full_name, status, created_at)
       SELECT $1::int, 'acme/app', 'failed', timestamptz '2026-03-01' + n * interval '1 minute'
       FROM generate_series(0, 1000) AS n`,
      [run],
    );
    expect(await stateOf()).toMatchObject({ consecutive_failures: 1_000, failing_since: at(1) });
  });

  it('cuts a long error message to 1,000 characters', async () => {
    await failure('acme/app', at(9), 'x'.repeat(5_000));
    const { error_message } = await stateOf();
    expect(error_message).toMatch(/^x{900,}… \[cut: \d+ more characters\]$/);
    expect(String(error_message).length).toBeLessThanOrEqual(1_000);
  });

  it('is that of the results that are left when the newest was deleted', async () => {
    await result('acme/app', at(9, 12));
    const id = await failure('acme/app', at(10));
    await sql(database.db, 'DELETE FROM backup_results WHERE id = $1::int', [id]);
    expect(await stateOf()).toMatchObject({ state: 'good', last_good_at: at(9, 12) });
  });
});

describe('GET /api/repos/:owner/:name', () => {
  it('returns the entry of the list', async () => {
    await insertOneOfEach();
    const { data } = (await bodyOf('/api/repos?text=failing-longer')) as { data: object[] };
    expect(await bodyOf('/api/repos/other/failing-longer')).toEqual({
      ...data[0],
      would_lose: [],
    });
  });

  it('matches in any letter case; of several spellings the exact one, else the newest', async () => {
    await result('Acme/App', at(1));
    await result('acme/app', at(2));
    await result('ACME/app', at(3));
    expect(await bodyOf('/api/repos/Acme/App')).toMatchObject({ full_name: 'Acme/App' });
    expect(await bodyOf('/api/repos/acme/APP')).toMatchObject({ full_name: 'ACME/app' });
  });

  it('takes a name with more slashes, written %2F', async () => {
    await result('group/sub/über', at(1));
    const path = '/api/repos/group/sub%2F%C3%BCber';
    expect(await bodyOf(path)).toMatchObject({ full_name: 'group/sub/über' });
    expect(await bodyOf(`${path}/history`)).toMatchObject({ pagination: { total_items: 1 } });
  });
});

describe('GET /api/repos/:owner/:name/history', () => {
  it('returns the results of this repository, newest first, in pages', async () => {
    await result('acme/other', at(9));
    const oldest = await result('acme/app', at(2), {
      archive_size_bytes: 7,
      commit_hash: 'c0ffee',
    });
    const newest = await failure('acme/app', at(4));
    const tied = await failure('acme/app', at(4));
    expect(await bodyOf('/api/repos/acme/app/history?limit=2')).toMatchObject({
      data: [{ id: tied }, { id: newest, error_message: 'no route to host' }],
      pagination: { page: 1, limit: 2, total_items: 3, total_pages: 2 },
    });
    expect(await bodyOf('/api/repos/acme/app/history?limit=2&page=2')).toMatchObject({
      data: [
        {
          id: oldest,
          run_id: run,
          repo_full_name: 'acme/app',
          status: 'completed',
          created_at: at(2),
          commit_hash: 'c0ffee',
          archive_size_bytes: 7,
        },
      ],
    });
  });

  it('holds the results of every letter case', async () => {
    const old = await result('Acme/App', at(1));
    const middle = await result('acme/app', at(2));
    const newest = await result('Acme/App', at(3));
    expect(await bodyOf('/api/repos/acme/APP/history')).toMatchObject({
      data: [{ id: newest }, { id: middle }, { id: old }],
      pagination: { total_items: 3 },
    });
  });

  it('cuts a long error message to 4,000 characters', async () => {
    await failure('acme/app', at(9), 'x'.repeat(5_000));
    const { data } = (await bodyOf('/api/repos/acme/app/history')) as {
      data: [{ error_message: string }];
    };
    expect(data[0].error_message).toMatch(/^x{3900,}… \[cut: \d+ more characters\]$/);
    expect(data[0].error_message.length).toBeLessThanOrEqual(4_000);
  });

  it('is empty past the last page', async () => {
    await result('acme/app', at(1));
    expect(await bodyOf('/api/repos/acme/app/history?page=9007199254740991')).toMatchObject({
      data: [],
      pagination: { total_items: 1 },
    });
  });
});

describe.each(['', '/history'])('GET /api/repos/:owner/:name%s', (rest) => {
  it.each(['acme/none', 'none/app', 'acme%2Fapp/x', '__proto__/constructor', '%20/%20'])(
    'answers 404 for %s',
    async (name) => {
      await result('acme/app', at(1));
      expect(await client().get(`/api/repos/${name}${rest}`)).toMatchObject({
        status: 404,
        body: { error: 'repository not found' },
      });
    },
  );

  it.each([`acme/${'x'.repeat(501)}`, 'acme/a%00b', 'a%00b/app'])(
    'rejects the name %s',
    async (name) => {
      expect((await client().get(`/api/repos/${name}${rest}`)).status).toBe(400);
    },
  );
});

it('counts the repositories by state in the metrics, as everywhere else', async () => {
  await insertOneOfEach();
  const counts = { good: 1, stale: 1, failing: 2, lost: 1, never: 2 };
  const here = client();
  const { text } = await here.get('/metrics');
  for (const [state, count] of Object.entries(counts)) {
    expect(text).toContain(`\nbackup_repositories{state="${state}"} ${count}\n`);
  }
  const all = { repositories: { total: 7, ...counts } };
  expect(await bodyOf('/api/dashboard/stats')).toMatchObject(all);
  expect(await bodyOf('/api/overview')).toMatchObject(all);
});
