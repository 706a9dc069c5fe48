import { describe, expect, it } from 'vitest';
import { failed, useRules } from '../../support/alert-rules.ts';
import { ago, DAY_MS, HOUR_MS } from '../../support/incidents.ts';
import { sql } from '../../support/records.ts';

const { database, clock, opened, results } = useRules();

interface DrillRow {
  version?: number | null;
  storage?: string;
  reason?: string;
  evidence?: string;
}

describe('drill_failed', () => {
  const drill = (
    name: string,
    hoursAgo: number,
    outcome: string,
    { version = 3, storage = 'folder', reason = 'damaged', evidence = '{}' }: DrillRow = {},
  ) =>
    sql(
      database.db,
      `INSERT INTO restore_drills (repository_name, started_at, outcome, reason, version, storage, evidence, duration_ms, bytes)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 1)`,
      [
        ...[name, ago(clock, hoursAgo * HOUR_MS), outcome],
        ...[outcome === 'proven' ? null : reason, version, storage, evidence],
      ],
    );

  it('is about the last drill that reached a result', async () => {
    await drill('o/bad', 9, 'proven');
    await drill('o/bad', 8, 'failed');
    await drill('O/Bad', 7, 'incomplete');
    await drill('o/proven', 6, 'failed');
    await drill('O/proven', 5, 'proven');
    // Recorded by clocks that were ahead.
    await drill('o/hidden', 4, 'failed');
    await drill('o/hidden', -9_000, 'proven');
    await drill('o/ahead', -9_000, 'failed');
    await drill('o/mended', -9_000, 'failed');
    await drill('o/mended', 3, 'proven');
    // Recorded before the failure by a clock that was ahead, with a time that has come since.
    await drill('o/early', 2, 'proven');
    await drill('o/early', 3, 'failed');
    expect(await opened()).toMatchObject([
      { rule: 'drill_failed', repositories: ['o/ahead', 'o/bad', 'o/early', 'o/hidden'] },
    ]);
  });

  it('names the place and the version, if the drill got that far, and names a store only once', async () => {
    const storage = 's3://bucket/x';
    await drill('o/a', 2, 'failed');
    await drill('o/b', 1, 'failed', { version: null });
    await drill('o/c', 1, 'failed', { storage });
    await drill('o/d', 1, 'failed', { storage, reason: `${storage}: it is away` });
    await drill('o/e', 1, 'failed', { storage, version: null, reason: `no archive in ${storage}` });
    await opened();
    const rows = await sql<{ reason: string }>(
      database.db,
      'SELECT reason FROM incident_repositories ORDER BY repository_name',
    );
    expect(rows.map(({ reason }) => reason)).toEqual([
      'archive folder, version 3: damaged',
      'archive folder: damaged',
      's3://bucket/x, version 3: damaged',
      'version 3: s3://bucket/x: it is away',
      'no archive in s3://bucket/x',
    ]);
  });

  describe('for a repository without an archive', () => {
    const evidence = '{"missing": true}';
    const discover = (name: string, hoursAgo: number, plan = 'taken') =>
      sql(
        database.db,
        'INSERT INTO coverage (name, run_id, plan, seen_at) VALUES ($1, 1, $3, $2)',
        [name, ago(clock, hoursAgo * HOUR_MS), plan],
      );
    const failing = async () =>
      (await opened()).flatMap(({ rule, repositories }) =>
        rule === 'drill_failed' ? repositories : [],
      );

    it('ends when a later discovery does not see the repository', async () => {
      await drill('o/gone', 5, 'failed', { evidence });
      await discover('o/other', 6);
      expect(await failing()).toEqual(['o/gone']);
      await discover('o/another', 4);
      expect(await failing()).toEqual([]);
    });

    it('ends after a week if there is no discovery', async () => {
      await drill('o/gone', 7 * 24, 'failed', { evidence });
      await drill('o/new', 7 * 24 - 1, 'failed', { evidence });
      expect(await failing()).toEqual(['o/new']);
    });

    it('stays open if the discovery sees the repository, or if a run has tried it or found it good since', async () => {
      await discover('O/Seen', 1, 'lost');
      for (const name of ['o/seen', 'o/tried', 'o/good', 'o/gone']) {
        await drill(name, 20 * 24, 'failed', { evidence });
      }
      await results('O/tried', failed(null));
      await sql(
        database.db,
        'INSERT INTO worker_repo_state (repo_full_name, checked_at) VALUES ($1, $2), ($3, $4)',
        ['O/good', ago(clock, HOUR_MS), 'o/gone', ago(clock, 21 * DAY_MS)],
      );
      expect(await failing()).toEqual(['o/good', 'o/seen', 'o/tried']);
    });

    it('stays open if there is an archive, however long no run has seen the repository', async () => {
      await discover('o/other', 1);
      await drill('o/kept', 300 * 24, 'failed');
      expect(await failing()).toEqual(['o/kept']);
    });
  });
});
