import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert } from '../support/records.ts';

const database = useDatabase();
beforeEach(() => empty(database.db));

const client = () => createClient({ db: database.db });
const read = async (path: string) =>
  (await client().get(path)).body as { data: Record<string, unknown>[] };
const idsOf = async (path: string) => (await read(path)).data.map(({ id }) => id);
const add = (repository: string | null, version: number, row: Record<string, SqlValue> = {}) =>
  insert(database.db, 'anomalies', {
    ...{ repo_full_name: repository, version, kind: 'tags_deleted' },
    seen_at: `2026-03-0${version}T00:00:00Z`,
    ...row,
  });
const confirm = (ids: unknown) => client().post('/api/anomalies/confirm', { ids });

describe('GET /api/repos/:owner/:name/anomalies', () => {
  it('lists anomalies of the repository in any letter case, newest first, with before and after', async () => {
    await add('acme/app', 1, { confirmed_at: '2026-03-05T00:00:00Z', confirmed_by: 'ada' });
    await add('Acme/App', 2, {
      run_id: 7,
      change_count: 2,
      before: '{"refs/tags/v1": "a", "refs/tags/v2": "b"}',
      after: '{"refs/tags/v2": "c"}',
    });
    await add('acme/other', 3);
    expect(await read('/api/repos/ACME/app/anomalies')).toEqual({
      data: [
        {
          ...{ id: 2, repository: 'Acme/App', run_id: 7, version: 2, kind: 'tags_deleted' },
          change_count: 2,
          before: { 'refs/tags/v1': 'a', 'refs/tags/v2': 'b' },
          after: { 'refs/tags/v2': 'c' },
          seen_at: '2026-03-02T00:00:00.000000Z',
          ...{ confirmed_at: null, confirmed_by: null },
        },
        expect.objectContaining({
          ...{ id: 1, confirmed_at: '2026-03-05T00:00:00.000000Z', confirmed_by: 'ada' },
        }),
      ],
      pagination: { page: 1, limit: 50, total_items: 2, total_pages: 1 },
    });
    expect(await idsOf('/api/repos/acme/app/anomalies?open=true')).toEqual([2]);
    expect(await idsOf('/api/repos/acme/app/anomalies?open=false')).toEqual([1]);
    expect(await idsOf('/api/repos/acme/app/anomalies?limit=1&page=2')).toEqual([1]);
  });

  it('returns an empty list for an unknown repository', async () => {
    expect((await read('/api/repos/acme/none/anomalies')).data).toEqual([]);
  });
});

describe('GET /api/anomalies', () => {
  it('lists anomalies of each repository, and those that concern all of them', async () => {
    await add('acme/app', 1);
    await add(null, 3, { kind: 'missing', version: null, run_id: 1 });
    await add('acme/other', 2, { confirmed_at: '2026-03-05T00:00:00Z' });
    expect(await idsOf('/api/anomalies')).toEqual([2, 3, 1]);
    expect(await idsOf('/api/anomalies?open=true')).toEqual([2, 1]);
    expect((await read('/api/anomalies')).data[0]).toMatchObject({
      ...{ repository: null, version: null, kind: 'missing' },
    });
  });

  it('rejects open=maybe', async () => {
    expect((await client().get('/api/anomalies?open=maybe')).status).toBe(400);
  });
});

describe('POST /api/anomalies/confirm', () => {
  it('confirms an anomaly once, with the name of the caller', async () => {
    await add('acme/app', 1);
    await add('acme/app', 2);
    expect((await confirm([1])).body).toEqual({ confirmed: 1 });
    const [first] = (await read('/api/anomalies?open=false')).data;
    expect(first).toMatchObject({ id: 1, confirmed_by: 'api', confirmed_at: expect.any(String) });
    expect((await confirm([2, 1, 2])).body).toEqual({ confirmed: 1 });
    const again = (await read('/api/anomalies?open=false')).data.find(({ id }) => id === 1);
    expect(again).toEqual(first);
  });

  it('resolves the incident at once unless another anomaly is open, and leaves other incidents open', async () => {
    await add('acme/app', 1);
    await add('acme/other', 2);
    await insert(database.db, 'incidents', { rule: 'destination_unreachable' });
    await insert(database.db, 'incidents', { rule: 'anomaly' });
    const incidents = async () => {
      const { data } = await read('/api/incidents?state=open');
      return data.map(({ rule, repository_count }) => `${rule} ${repository_count}`).sort();
    };
    await confirm([1]);
    expect(await incidents()).toEqual(['anomaly 1', 'destination_unreachable 0']);
    await confirm([2]);
    expect(await incidents()).toEqual(['destination_unreachable 0']);
  });

  it('confirms nothing if one of the ids does not exist', async () => {
    await add('acme/app', 1);
    expect((await confirm([1, 2])).status).toBe(404);
    expect(await idsOf('/api/anomalies?open=true')).toEqual([1]);
  });

  it.each([[[]], [[0]], ['1'], [Array.from({ length: 101 }, (_, n) => n + 1)]])(
    'rejects the ids %j',
    async (ids) => {
      expect((await confirm(ids)).status).toBe(400);
    },
  );
});
