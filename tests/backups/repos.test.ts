import { describe, expect, it } from 'vitest';
import { insertResult } from '../support/records.ts';
import { at, useRepositories } from '../support/repositories.ts';

const routes = useRepositories();
const { client, bodyOf, result, failure } = routes;

/** A good, a stale, two failing and a lost repository, and two that were never good. */
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
  it('returns one entry per repository, from its newest result', async () => {
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
          ...{ fault: null, source: null, last_proof: null, last_drill: null },
          archive: { state: 'unknown', seen_at: null, missing_since: null, copies: 0 },
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

  it('orders by archive size, largest first, then newest first, in pages', async () => {
    const sizes = { 'owner/b': 5, 'owner/a': 5, 'owner/big': 9, 'owner/old/nested': null };
    for (const [name, bytes] of Object.entries(sizes)) {
      await insertResult(routes.db, routes.run, name, {
        archive_size_bytes: bytes,
        commit_hash: null,
      });
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

  it('returns an empty page for an empty database', async () => {
    expect(await bodyOf('/api/repos')).toMatchObject({ data: [], pagination: { total_items: 0 } });
  });

  it('finds repositories by part of their name, taken literally and in any letter case', async () => {
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
  ])('finds repositories by %s, and counts only matches', async (query, names) => {
    await insertOneOfEach();
    expect(await list(query)).toEqual({ names, total: names.length });
    expect((await list(`${query}&limit=1`)).total).toBe(names.length);
  });

  it('orders by worst state: never, lost, failing, stale, good, each longest without a good backup first', async () => {
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

describe('GET /api/repos/:owner/:name', () => {
  it('returns the entry of the list', async () => {
    await insertOneOfEach();
    const { data } = (await bodyOf('/api/repos?text=failing-longer')) as { data: object[] };
    expect(await bodyOf('/api/repos/other/failing-longer')).toEqual({
      ...data[0],
      would_lose: [],
      forgotten: null,
    });
  });

  it('matches in any letter case, preferring the exact spelling, then the newest', async () => {
    await result('Acme/App', at(1));
    await result('acme/app', at(2));
    await result('ACME/app', at(3));
    expect(await bodyOf('/api/repos/Acme/App')).toMatchObject({ full_name: 'Acme/App' });
    expect(await bodyOf('/api/repos/acme/APP')).toMatchObject({ full_name: 'ACME/app' });
  });

  it('accepts a name with more slashes, written as %2F', async () => {
    await result('group/sub/über', at(1));
    const path = '/api/repos/group/sub%2F%C3%BCber';
    expect(await bodyOf(path)).toMatchObject({ full_name: 'group/sub/über' });
    expect(await bodyOf(`${path}/history`)).toMatchObject({ pagination: { total_items: 1 } });
  });
});

describe('GET /api/repos/:owner/:name/history', () => {
  it('returns the results of the repository, newest first, in pages', async () => {
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
          run_id: routes.run,
          repo_full_name: 'acme/app',
          status: 'completed',
          created_at: at(2),
          commit_hash: 'c0ffee',
          archive_size_bytes: 7,
        },
      ],
    });
  });

  it('includes results of every spelling', async () => {
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

it('GET /metrics counts repositories by state like the other routes', async () => {
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
