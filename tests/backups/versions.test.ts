import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();

beforeEach(() => empty(database.db));

const ask = (path: string) => createClient({ db: database.db }).get(path);
const bodyOf = async (path: string) => (await ask(path)).body;

/** Inserts a row with plain SQL. */
async function put(table: string, row: Record<string, SqlValue>): Promise<void> {
  const columns = Object.keys(row);
  const values = columns.map((_, index) => `$${index + 1}`).join(', ');
  await sql(
    database.db,
    `INSERT INTO ${table} (${columns}) VALUES (${values})`,
    Object.values(row),
  );
}
const version = (version: number, row: Record<string, SqlValue> = {}, name = 'acme/app') =>
  put('archive_versions', { repo_full_name: name, version, ...row });
const ref = (name: string, from_version: number, to_version: number | null = null) =>
  put('archive_refs', {
    repo_full_name: 'acme/app',
    name,
    object_id: `${name}@${from_version}`,
    from_version,
    to_version,
  });

const full = {
  run_id: 12,
  created_at: '2026-03-01T10:00:00.123456Z',
  head_branch: 'main',
  ref_count: 3,
  refs_sha256: 'aa',
  manifest_sha256: 'bb',
  files: 4,
  size_bytes: 5_000_000_000,
  new_bytes: 7,
  warning: 'history was rewritten',
};

describe('GET /api/repos/:owner/:name/versions', () => {
  const numbers = async (query = '', name = 'acme/app') => {
    const body = (await bodyOf(`/api/repos/${name}/versions${query}`)) as {
      data: { version: number }[];
      pagination: { total_items: number };
    };
    return [body.data.map((item) => item.version), body.pagination.total_items];
  };

  it('returns every field of a version', async () => {
    await version(1, full);
    expect(await bodyOf('/api/repos/acme/app/versions')).toEqual({
      data: [{ version: 1, ...full, pruned_at: null }],
      pagination: { page: 1, limit: 50, total_items: 1, total_pages: 1 },
    });
  });

  it('lists versions newest first, in pages, or only those before a version', async () => {
    for (let n = 1; n <= 12; n++) await version(n);
    expect(await numbers('?limit=5')).toEqual([[12, 11, 10, 9, 8], 12]);
    expect(await numbers('?limit=5&page=3')).toEqual([[2, 1], 12]);
    expect(await numbers('?limit=2&before=4')).toEqual([[3, 2], 3]);
    expect(await numbers('?before=9007199254740991&limit=1')).toEqual([[12], 12]);
    expect(await numbers('?page=9007199254740991')).toEqual([[], 12]);
  });

  it('lists only versions made at a time or earlier', async () => {
    for (let n = 1; n <= 3; n++) await version(n, { created_at: `2026-03-0${n}T10:00:00Z` });
    expect(await numbers('?until=2026-03-02T10:00:00Z')).toEqual([[2, 1], 2]);
    expect(await numbers('?until=2026-03-02T11:00:00%2B02:00')).toEqual([[1], 1]);
    expect(await numbers('?until=2026-02-28')).toEqual([[], 0]);
    expect((await ask('/api/repos/acme/app/versions?until=x')).status).toBe(400);
  });

  it('omits pruned versions unless requested', async () => {
    await version(1, { pruned_at: '2026-03-09T10:00:00Z' });
    await version(2);
    expect(await numbers()).toEqual([[2], 1]);
    expect(await numbers('?pruned=false')).toEqual([[2], 1]);
    expect(await bodyOf('/api/repos/acme/app/versions?pruned=true')).toMatchObject({
      data: [
        { version: 2, pruned_at: null },
        { version: 1, pruned_at: '2026-03-09T10:00:00.000000Z' },
      ],
    });
  });

  it('matches in any letter case, preferring the exact spelling, then the newest', async () => {
    await version(1, { created_at: '2026-03-01T00:00:00Z' }, 'Acme/App');
    await version(2, { created_at: '2026-03-02T00:00:00Z' }, 'acme/app');
    expect(await numbers('', 'Acme/App')).toEqual([[1], 1]);
    expect(await numbers('', 'ACME/APP')).toEqual([[2], 1]);
  });

  it('accepts a name with more slashes, written as %2F', async () => {
    await version(3, {}, 'group/sub/über');
    expect(await numbers('', 'group/sub%2F%C3%BCber')).toEqual([[3], 1]);
  });

  it('returns an empty list for a repository without versions, and 404 for an unknown one', async () => {
    await insertResult(database.db, await insertRun(database.db), 'acme/plain');
    expect(await numbers('', 'acme/PLAIN')).toEqual([[], 0]);
    expect(await ask('/api/repos/acme/none/versions')).toMatchObject({ status: 404 });
  });

  it('cuts a long warning to 1,000 characters', async () => {
    await version(1, { warning: 'x'.repeat(5_000) });
    const { data } = (await bodyOf('/api/repos/acme/app/versions')) as {
      data: [{ warning: string }];
    };
    expect(data[0].warning).toMatch(/^x{900,}… \[cut: \d+ more characters\]$/);
  });

  it.each(['pruned=maybe', 'before=x', 'limit='])('rejects %s', async (query) => {
    expect((await ask(`/api/repos/acme/app/versions?${query}`)).status).toBe(400);
  });
});

describe('GET /api/repos/:owner/:name/versions/:id/refs', () => {
  const names = async (of: number, query = '') => {
    const body = (await bodyOf(`/api/repos/acme/app/versions/${of}/refs${query}`)) as {
      data: { name: string; object_id: string }[];
      next: string | null;
    };
    return { names: body.data.map(({ name }) => name), next: body.next };
  };

  beforeEach(async () => {
    for (let n = 1; n <= 3; n++) await version(n, full);
  });

  it('returns the version and where its refs pointed', async () => {
    await ref('HEAD', 1, 2);
    await ref('HEAD', 2);
    await ref('refs/heads/gone', 1, 3);
    await ref('refs/heads/new', 3);
    expect(await bodyOf('/api/repos/ACME/app/versions/2/refs')).toEqual({
      version: { version: 2, ...full, pruned_at: null },
      data: [
        { name: 'HEAD', object_id: 'HEAD@2' },
        { name: 'refs/heads/gone', object_id: 'refs/heads/gone@1' },
      ],
      next: null,
    });
    expect(await names(1)).toMatchObject({ names: ['HEAD', 'refs/heads/gone'] });
    expect(await names(3)).toMatchObject({ names: ['HEAD', 'refs/heads/new'] });
  });

  it('returns pages by name, in byte order', async () => {
    const all = ['HEAD', 'refs/heads/A', 'refs/heads/a', 'refs/heads/ä', 'refs/heads/🙂'];
    for (const name of all.toReversed()) await ref(name, 1);
    expect(await names(1, '?limit=2')).toEqual({ names: all.slice(0, 2), next: all[1] });
    const following = (name: string) => `?limit=2&after=${encodeURIComponent(name)}`;
    expect(await names(1, following('refs/heads/A'))).toEqual({
      names: all.slice(2, 4),
      next: all[3],
    });
    expect(await names(1, following('refs/heads/ä'))).toEqual({ names: all.slice(4), next: null });
    expect(await names(1, '?limit=5')).toEqual({ names: all, next: null });
  });

  it('filters by part of the name, taken literally and in any letter case, and by its start', async () => {
    const all = ['refs/heads/100%_Done', 'refs/heads/100xydone', 'refs/tags/done', 'refs/tagsX'];
    for (const name of all) await ref(name, 1);
    expect(await names(1, '?text=DONE')).toMatchObject({ names: all.slice(0, 3) });
    expect(await names(1, '?text=%25_d')).toMatchObject({ names: all.slice(0, 1) });
    expect(await names(1, '?prefix=refs/tags/')).toMatchObject({ names: ['refs/tags/done'] });
    expect(await names(1, '?prefix=refs/heads/&text=xy')).toMatchObject({ names: [all[1]] });
    expect(await names(1, '?prefix=refs/heads/&limit=1')).toMatchObject({ next: all[0] });
    expect(await names(1, '?prefix=refs/Heads/')).toEqual({ names: [], next: null });
  });

  it('answers 404 for an unknown version or repository, or pruned refs', async () => {
    await version(4, { pruned_at: '2026-03-09T10:00:00Z' });
    await ref('HEAD', 1);
    const statusOf = async (path: string) => (await ask(`/api/repos/${path}/refs`)).status;
    expect(await statusOf('acme/app/versions/3')).toBe(200);
    for (const id of ['0', '-1', '5', '9007199254740993']) {
      expect(await statusOf(`acme/app/versions/${id}`)).toBe(404);
    }
    expect(await statusOf('acme/none/versions/1')).toBe(404);
    expect(await statusOf('acme/app/versions/x')).toBe(400);
    const { status, body } = await ask('/api/repos/acme/app/versions/4/refs');
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: 'the version was pruned' });
  });
});
