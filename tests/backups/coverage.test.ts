import { beforeEach, describe, expect, it } from 'vitest';
import { recordCoverage } from '../../lib/records/recording/coverage.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');
const RECENT = '2026-03-10T11:00:00Z';
let run: number;

beforeEach(async () => {
  await empty(database.db);
  run = await insertRun(database.db);
});

const bodyOf = async (path: string) =>
  (await createClient({ db: database.db, clock: createTestClock(NOW) }).get(path)).body;
const seen = (
  name: string,
  plan: 'taken' | 'excluded' | 'suspended' | 'lost' = 'taken',
  reason = '',
) => ({
  ...{ name, plan, reason },
  facts: {},
});
const result = (name: string, row = {}) =>
  insertResult(database.db, run, name, { created_at: RECENT, ...row });

describe('GET /api/coverage', () => {
  it('explains why each repository that the login sees, or saw before, is not backed up', async () => {
    await result('team/good');
    await result('Team/Spelled');
    await result('team/blank', { status: 'empty' });
    await result('team/old', { created_at: '2026-03-01T00:00:00Z' });
    const failed = { status: 'failed', error_message: 'no' };
    await result('team/denied', { ...failed, fault: 'login' });
    await result('team/failing', { created_at: '2026-03-09T00:00:00Z' });
    await result('team/failing', { ...failed, fault: 'network' });
    await result('given/by-hand');
    await recordCoverage(
      database.db,
      run,
      [
        ...['good', 'spelled', 'blank', 'old', 'denied', 'failing', 'new'].map((name) =>
          seen(`team/${name}`),
        ),
        seen('team/left', 'excluded', 'excluded by BACKUP_EXCLUDE left'),
        seen('other/*', 'suspended', 'the app is suspended there'),
        seen('team/gone', 'lost', 'access lost'),
      ],
      RECENT,
    );
    const gap = (name: string, gap: string, reason = '', last_good_at: string | null = null) => ({
      ...{ name, gap, reason, last_good_at },
    });
    const recent = '2026-03-10T11:00:00.000000Z';
    expect(await bodyOf('/api/coverage')).toEqual({
      ...{ run_id: run, seen_at: recent, seen: 8, backed_up: 2 },
      gaps: {
        ...{ empty: 1, excluded: 1, failing: 1, lost: 1, no_permission: 1 },
        ...{ pending: 1, stale: 1, suspended: 1 },
      },
      data: [
        gap('team/blank', 'empty', '', recent),
        gap('team/left', 'excluded', 'excluded by BACKUP_EXCLUDE left'),
        gap('team/failing', 'failing', 'no', '2026-03-09T00:00:00.000000Z'),
        gap('team/gone', 'lost', 'access lost'),
        gap('team/denied', 'no_permission', 'no'),
        gap('team/new', 'pending'),
        gap('team/old', 'stale', '', '2026-03-01T00:00:00.000000Z'),
        gap('other/*', 'suspended', 'the app is suspended there'),
      ],
      pagination: { page: 1, limit: 50, total_items: 8, total_pages: 1 },
    });
    expect(await bodyOf('/api/coverage?limit=1&page=3')).toMatchObject({
      ...{ seen: 8, data: [{ name: 'team/failing' }] },
    });
  });

  it('is empty before the first discovery', async () => {
    await result('given/by-hand');
    expect(await bodyOf('/api/coverage')).toEqual({
      ...{ run_id: null, seen_at: null, seen: 0, backed_up: 0, gaps: {}, data: [] },
      pagination: { page: 1, limit: 50, total_items: 0, total_pages: 0 },
    });
  });

  it('is replaced by the next discovery, but not by one that is delivered late', async () => {
    await recordCoverage(database.db, 1, [seen('team/a'), seen('team/b')], '2026-03-02T00:00:00Z');
    await recordCoverage(database.db, 2, [seen('team/b'), seen('team/c')], '2026-03-03T00:00:00Z');
    await recordCoverage(database.db, 3, [seen('team/d')], '2026-03-01T00:00:00Z');
    expect(await sql(database.db, 'SELECT name, run_id FROM coverage ORDER BY name')).toEqual([
      { name: 'team/b', run_id: 2 },
      { name: 'team/c', run_id: 2 },
    ]);
  });
});

describe('would_lose of a repository', () => {
  const lost = async (name = 'team/app') =>
    ((await bodyOf(`/api/repos/${name}`)) as { would_lose: unknown }).would_lose;
  const made = (version: number) =>
    sql(
      database.db,
      "INSERT INTO archive_versions (repo_full_name, version) VALUES ('team/app', $1::int)",
      [version],
    );

  it('lists what the archive lacks, and what the git host reports about the repository', async () => {
    await result('team/app', { incomplete: 'Git LFS: 2 files of HEAD' });
    await result('team/app', { status: 'failed', incomplete: null });
    await recordCoverage(database.db, run, [
      {
        ...seen('Team/App'),
        facts: { has_wiki: true, has_issues: true, has_discussions: true, open_issues: 7 },
      },
    ]);
    expect(await lost()).toEqual([
      { what: 'lfs', detail: 'Git LFS: 2 files of HEAD' },
      { what: 'issues', detail: '7' },
      { what: 'wiki', detail: '' },
      { what: 'discussions', detail: '' },
    ]);
  });

  it.each([
    { submodules: 'Submodules: 2 are not in the archive' },
    { lfs: 'Git LFS: 2 files of HEAD', submodules: 'Submodules: 1 is not in the archive' },
    // Only the kind counts, whatever the text says.
    { lfs: 'Submodules: none; Git LFS: 2 files of HEAD' },
  ])('distinguishes files and submodules: %j', async (lacks) => {
    const incomplete = Object.values(lacks).join('; ');
    await result('team/app', { incomplete, lacks: JSON.stringify(lacks) });
    const expected = Object.entries(lacks).map(([what, detail]) => ({ what, detail }));
    expect(await lost()).toEqual(expected);
  });

  it('omits what the git host does not have, or does not report', async () => {
    await result('team/app');
    await recordCoverage(database.db, run, [
      { ...seen('team/app'), facts: { has_wiki: false, has_issues: true, open_issues: 0 } },
    ]);
    expect(await lost()).toEqual([]);
  });

  it('includes possible releases if the repository is on a git host and its archive has tags', async () => {
    await result('team/app');
    await made(1);
    const ref = (repository: string, name: string) =>
      sql(
        database.db,
        `INSERT INTO archive_refs (repo_full_name, name, object_id, from_version)
         VALUES ($1, $2, repeat('a', 40), 1)`,
        [repository, name],
      );
    await ref('team/app', 'refs/heads/main');
    await ref('team/app', 'refs/tags0/v1');
    await ref('team/other', 'refs/tags/v1');
    await recordCoverage(database.db, run, [seen('team/app')]);
    const rest = [{ what: 'only_here', detail: '1' }];
    expect(await lost()).toEqual(rest);
    await ref('team/app', 'refs/tags/v1');
    expect(await lost()).toEqual([{ what: 'releases', detail: '' }, ...rest]);
    await sql(database.db, 'DELETE FROM coverage');
    expect(await lost()).toEqual(rest);
  });

  it('is everything for a repository without a backup', async () => {
    await result('team/app', { status: 'failed' });
    expect(await lost()).toEqual([{ what: 'everything', detail: '' }]);
  });

  it('includes versions that are in no store, unless they were pushed', async () => {
    await result('team/app');
    await made(4);
    await made(5);
    const store = 'INSERT INTO archive_stores (repo_full_name, store, version) VALUES ($1, $2, $3)';
    await sql(database.db, store.replace('$3', '$3::int'), ['team/app', 'file:///nas', 4]);
    expect(await lost()).toEqual([{ what: 'only_here', detail: '5' }]);
    await recordCoverage(database.db, run, [{ ...seen('team/app'), facts: { pushed: true } }]);
    expect(await lost()).toEqual([]);
    await recordCoverage(database.db, run, [{ ...seen('team/app'), facts: { pushed: false } }]);
    await sql(database.db, 'UPDATE archive_stores SET version = 5');
    expect(await lost()).toEqual([]);
    await sql(database.db, 'UPDATE archive_stores SET unused_since = now()');
    expect(await lost()).toEqual([{ what: 'only_here', detail: '5' }]);
  });
});
