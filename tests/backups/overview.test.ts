import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { recordStoring, recordUsed } from '../../lib/records/recording/stores.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger, someDrill } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');

beforeEach(() => empty(database.db));

const read = async (environment = {}) => {
  const options = { db: database.db, environment, clock: createTestClock(NOW) };
  const client = createClient(options);
  const { body } = await client.get('/api/overview');
  return body as { worst: { full_name: string }[]; current_archive_bytes: number };
};
const at = (day: number, hour = 0, minute = 0) =>
  new Date(Date.UTC(2026, 2, day, hour, minute)).toISOString().replace('Z', '000Z');

const utc = (day: number, hour: number) => new Date(Date.UTC(2026, 2, day, hour)).toISOString();

/** Inserts results of a repository, an hour apart, the last one now. */
async function results(repository: string, ...rows: Record<string, SqlValue>[]): Promise<void> {
  const run = await insertRun(database.db, { status: 'failed', started_at: at(1) });
  for (const [index, row] of rows.entries()) {
    const created_at = at(10, 12 - rows.length + index);
    await insertResult(database.db, run, repository, { created_at, ...row });
  }
}
const failed = { status: 'failed' };

describe('GET /api/overview', () => {
  it('is empty for an empty database', async () => {
    expect(await read()).toEqual({
      repositories: { total: 0, good: 0, stale: 0, failing: 0, lost: 0, never: 0, gone: 0 },
      worst: [],
      proofs: { proven: 0, overdue: 0, never: 0, failing: 0, oldest_at: null, most_needed: [] },
      failed_drills: [],
      off_site: null,
      current_archive_bytes: 0,
      last_good_run: null,
      last_finished_run: null,
      running: null,
      next_run_expected_at: null,
      next_run_late_at: null,
      is_scheduled: false,
      runs_start_here: false,
      usual_interval_ms: null,
      is_interval_declared: false,
      freshness_hours: 26,
      proof_days: 30,
      incidents: { open: 0, unacknowledged: 0 },
    });
  });

  it('counts repositories by state, and lists those that are not good, worst first', async () => {
    await results('a/good', {});
    await results('b/good', {});
    await results('c/failing', {}, failed);
    await results('d/never', failed);
    await results('e/stale', { created_at: at(2) });
    await results('f/lost', {}, { status: 'failed', fault: 'emptied' });
    const body = await read();
    expect(body).toMatchObject({
      repositories: { total: 6, good: 2, stale: 1, failing: 1, lost: 1, never: 1 },
      worst: [
        { full_name: 'd/never', state: 'never' },
        { full_name: 'f/lost', state: 'lost' },
        { full_name: 'c/failing', state: 'failing', consecutive_failures: 1 },
        { full_name: 'e/stale', state: 'stale' },
      ],
    });
    const listed = await createClient({ db: database.db, clock: createTestClock(NOW) }).get(
      '/api/repos?order=worst&limit=4',
    );
    expect(listed.body).toMatchObject({ data: body.worst });
  });

  it('judges freshness by FRESHNESS_HOURS, and returns it', async () => {
    await results('a/app', { created_at: at(10, 10) });
    expect(await read({ FRESHNESS_HOURS: '1' })).toMatchObject({
      repositories: { stale: 1 },
      freshness_hours: 1,
    });
    expect(await read({ FRESHNESS_HOURS: '2' })).toMatchObject({ repositories: { good: 1 } });
  });

  it('lists at most 20 of the worst repositories', async () => {
    for (let n = 0; n < 21; n++) await results(`a/${n}`, failed);
    const { worst } = await read();
    expect(worst).toHaveLength(20);
    expect(await read()).toMatchObject({ repositories: { total: 21, never: 21 } });
  });

  it('lists repositories with a failed restore drill, with the reason and the time', async () => {
    await emptyLedger(database.db);
    for (const name of ['a/proven', 'b/broken', 'c/mended']) await results(name, {});
    const drill = (repository: string, hour: number, more: Partial<NewDrill> = {}) =>
      recordDrill(database.db, someDrill({ repository, startedAt: utc(9, hour), ...more }), null);
    const broken = {
      outcome: 'failed',
      storage: 's3://backups/git',
      reason: 'a file is damaged',
    } as const;
    await drill('a/proven', 1);
    await drill('B/Broken', 2, broken);
    await drill('c/mended', 3, broken);
    await drill('c/mended', 4);
    await drill('z/untracked', 5, broken);
    expect(await read()).toMatchObject({
      proofs: { proven: 2, failing: 1 },
      failed_drills: [
        {
          ...{ full_name: 'b/broken', at: at(9, 2), storage: 's3://backups/git' },
          ...{ version: 3, reason: 'a file is damaged' },
        },
      ],
    });
  });

  it.each<[string, Record<string, SqlValue>]>([
    ['a failed result', { status: 'failed', archive_size_bytes: 0 }],
    ['a result without a size', { status: 'failed', archive_size_bytes: null }],
    ['an empty result', { status: 'empty', archive_size_bytes: 0 }],
    ['an archive that was not pushed', { status: 'too_large', archive_size_bytes: 9_000 }],
  ])('still counts the current archive after %s', async (_what, newest) => {
    await results('a/app', { archive_size_bytes: 7 }, { archive_size_bytes: 500 }, newest);
    await results('b/app', { status: 'success', archive_size_bytes: 30 });
    expect(await read()).toMatchObject({ current_archive_bytes: 530 });
  });

  it('counts no archive of a repository that was never archived', async () => {
    await results('a/app', { status: 'failed', archive_size_bytes: 5 }, { status: 'empty' });
    expect(await read()).toMatchObject({ current_archive_bytes: 0 });
  });

  it('returns the last completed run in which no repository failed', async () => {
    const good = await insertRun(database.db, {
      status: 'success',
      started_at: at(3),
      failed: null,
    });
    await insertRun(database.db, { status: 'completed', started_at: at(2), failed: 0 });
    await insertRun(database.db, { status: 'completed', started_at: at(4), failed: 1 });
    await insertRun(database.db, { status: 'failed', started_at: at(5), failed: 0 });
    await insertRun(database.db, { status: 'running', started_at: at(6), failed: 0 });
    expect(await read()).toMatchObject({ last_good_run: { id: good, started_at: at(3) } });
  });

  it('returns the newest run that has ended, and its outcome', async () => {
    await insertRun(database.db, { status: 'completed', started_at: at(2) });
    const id = await insertRun(database.db, { status: 'failed', started_at: at(3) });
    await insertRun(database.db, { status: 'running', started_at: at(4) });
    expect(await read()).toMatchObject({
      last_finished_run: { id, status: 'failed', is_stopped: false },
    });
  });

  it('shows the run under way with its counters and heartbeat', async () => {
    await insertRun(database.db, { status: 'running', started_at: at(1) });
    const id = await insertRun(database.db, {
      status: 'running',
      started_at: at(9),
      heartbeat_at: at(9, 1),
      total_repos: 9,
      successful: 4,
      failed: 1,
      skipped: 2,
    });
    await insertRun(database.db, { status: 'completed', started_at: at(10) });
    expect(await read()).toMatchObject({
      running: {
        id,
        status: 'running',
        heartbeat_at: at(9, 1),
        total_repos: 9,
        successful: 4,
        failed: 1,
        skipped: 2,
      },
    });
  });

  it('expects the next run a median interval after the last start, ignoring stopped runs', async () => {
    for (const hour of [0, 1, 2, 3, 9]) {
      await insertRun(database.db, { status: 'completed', started_at: at(9, hour) });
    }
    await insertRun(database.db, { status: 'running', started_at: at(9, 10, 30) });
    for (const minute of [31, 32, 33, 34, 35]) {
      const stopped = { status: 'failed', stopped_by: 'SIGTERM' };
      await insertRun(database.db, { ...stopped, started_at: at(9, 10, minute) });
    }
    expect(await read()).toMatchObject({
      usual_interval_ms: 3_600_000,
      next_run_expected_at: at(9, 11, 30),
      // Half of an interval that is learnt.
      next_run_late_at: at(9, 12),
    });
  });

  it('counts the repositories of which a store has the newest version, an older one, or none', async () => {
    const run = await insertRun(database.db);
    for (const name of ['o/current', 'o/behind', 'o/nowhere', 'o/refused', 'o/empty']) {
      await insertResult(database.db, run, name, { created_at: at(10, 11) });
      if (name === 'o/empty') continue;
      for (const version of [1, 2]) {
        await sql(
          database.db,
          'INSERT INTO archive_versions (repo_full_name, version) VALUES ($1, $2::int)',
          [name, version],
        );
      }
    }
    expect(await read()).toMatchObject({ off_site: null });
    const stored = (repository: string, store: string, version: number | null, reason = '') =>
      recordStoring(database.db, { repository, store, version, reason });
    await stored('O/Current', 's3://b', 2);
    await stored('o/current', 'file:///nas', 1);
    await stored('o/behind', 's3://b', 1);
    await stored('o/refused', 's3://b', 1);
    await stored('o/refused', 's3://b', 2, 'AccessDenied');
    expect(await read()).toMatchObject({
      off_site: { stores: 2, repositories: 4, current: 1, behind: 2, missing: 1, failing: 1 },
    });
    const use = (repositories: string[], ...stores: string[]) =>
      recordUsed(database.db, { repositories, stores, machine: 'a' }, null);
    await use(['o/current', 'o/behind', 'o/refused'], 's3://b', 'file:///nas');
    expect(await read()).toMatchObject({ off_site: { stores: 2, current: 1 } });
    // A run that no longer has the bucket among its stores, and leaves repositories out
    await use(['o/current'], 'file:///nas');
    expect(await read()).toMatchObject({
      off_site: { stores: 1, repositories: 4, current: 0, behind: 1, missing: 3, failing: 0 },
    });
    await use([]);
    expect(await read()).toMatchObject({ off_site: null });
  });

  it('learns nothing from runs that were started by hand', async () => {
    for (const seconds of [0, 26, 52, 79, 105]) {
      const started_at = new Date(NOW - 864e5 + seconds * 1_000).toISOString();
      await insertRun(database.db, { status: 'completed', started_at });
    }
    const unknown = { usual_interval_ms: null, next_run_expected_at: null, freshness_hours: 26 };
    expect(await read()).toMatchObject(unknown);
    await empty(database.db);
    for (const day of [1, 3, 5, 7]) {
      await insertRun(database.db, { status: 'completed', started_at: at(day), schedule_ms: 0 });
    }
    expect(await read()).toMatchObject(unknown);
    await empty(database.db);
    for (const [hour, minute] of [
      [0, 0],
      [0, 20],
      [4, 0],
      [4, 40],
      [12, 0],
    ] as const) {
      await insertRun(database.db, { status: 'completed', started_at: at(9, hour, minute) });
    }
    expect(await read()).toMatchObject(unknown);
  });

  it('learns the time between scheduled runs, whatever was started by hand in between', async () => {
    for (const day of [5, 6, 7, 8, 9]) {
      await insertRun(database.db, { status: 'completed', started_at: at(day, 3) });
      for (const minute of [1, 2, 3]) {
        await insertRun(database.db, { status: 'completed', started_at: at(day, 3, minute) });
      }
      const byHand = { started_at: at(day, 15), schedule_ms: 0 };
      await insertRun(database.db, { status: 'completed', ...byHand });
    }
    const { usual_interval_ms } = (await read()) as unknown as { usual_interval_ms: number };
    expect(usual_interval_ms).toBeGreaterThan(23 * 3_600_000);
    expect(usual_interval_ms).toBeLessThanOrEqual(24 * 3_600_000);
  });

  it("takes the interval of the worker's --every from its first run on", async () => {
    await insertRun(database.db, { status: 'completed', started_at: at(9), schedule_ms: 60_000 });
    await insertRun(database.db, { status: 'completed', started_at: at(9, 1), schedule_ms: 0 });
    expect(await read()).toMatchObject({
      usual_interval_ms: 60_000,
      is_interval_declared: true,
      next_run_expected_at: at(9, 1, 1),
      // At least a quarter of an hour.
      next_run_late_at: at(9, 1, 16),
    });
    await insertRun(database.db, { status: 'completed', started_at: at(9, 2), schedule_ms: null });
    expect(await read()).toMatchObject({ usual_interval_ms: null, is_interval_declared: false });
  });

  it('takes the mean of the two middle intervals of an even number', async () => {
    for (const day of [1, 2, 4]) {
      await insertRun(database.db, { status: 'failed', started_at: at(day) });
    }
    expect(await read()).toMatchObject({
      usual_interval_ms: 1.5 * 864e5,
      next_run_expected_at: at(5, 12),
    });
  });

  it('expects no run after fewer than three finished ones, or from impossible times', async () => {
    for (const day of [1, 2]) {
      await insertRun(database.db, { status: 'completed', started_at: at(day) });
    }
    await insertRun(database.db, { status: 'completed', started_at: 'infinity' });
    await insertRun(database.db, { status: 'running', started_at: at(3) });
    expect(await read()).toMatchObject({ usual_interval_ms: null, next_run_expected_at: null });
  });

  it('uses BACKUP_EVERY whatever the last runs suggest, from the first run on', async () => {
    expect(await read({ BACKUP_EVERY: '1d' })).toMatchObject({
      usual_interval_ms: 864e5,
      is_interval_declared: true,
      next_run_expected_at: null,
    });
    for (const hour of [0, 1, 2, 3]) {
      await insertRun(database.db, { status: 'completed', started_at: at(9, hour) });
    }
    expect(await read({ BACKUP_EVERY: '1d' })).toMatchObject({
      usual_interval_ms: 864e5,
      is_interval_declared: true,
      next_run_expected_at: at(10, 3),
      next_run_late_at: at(10, 5),
      freshness_hours: 26,
    });
  });

  it.each([
    // A declared interval counts to the minute, and has no upper limit here.
    [{ BACKUP_EVERY: '1445m' }, 27],
    [{ BACKUP_EVERY: '8w' }, 1456],
    [{ BACKUP_EVERY: '1h' }, 26],
    [{ BACKUP_EVERY: '1h', FRESHNESS_HOURS: '1' }, 2],
  ])('with %j uses a limit of %d hours', async (environment, hours) => {
    expect(await read(environment)).toMatchObject({ freshness_hours: hours });
  });

  it.each([
    ['24 hours 40 seconds', 26],
    ['24 hours 7 minutes', 26],
    ['24 hours 8 minutes', 27],
  ])('with runs %s apart learns a limit of %d hours', async (gap, hours) => {
    await sql(
      database.db,
      `INSERT INTO backup_runs (status, started_at)
       SELECT 'completed', timestamptz '2026-02-01' + n * $1::interval FROM generate_series(1, 5) AS n`,
      [gap],
    );
    expect(await read()).toMatchObject({ freshness_hours: hours });
  });

  it('considers only the last 20 finished runs', async () => {
    await sql(
      database.db,
      `INSERT INTO backup_runs (status, started_at)
       SELECT 'completed', timestamptz '2026-02-01' + n * interval '1 minute' FROM generate_series(1, 100) AS n
       UNION ALL
       SELECT 'completed', timestamptz '2026-03-01' + n * interval '1 hour' FROM generate_series(1, 20) AS n`,
    );
    expect(await read()).toMatchObject({ usual_interval_ms: 3_600_000 });
  });
});
