import { describe, expect, it } from 'vitest';
import { insertRun, sql } from '../support/records.ts';
import { at, NOW, useRepositories } from '../support/repositories.ts';

const routes = useRepositories();
const { client, bodyOf, result, failure, found } = routes;

const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString();

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

  it('is never if nothing was good, and failing since the first result', async () => {
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

  it('uses the later of a completed and an empty result as the last good one', async () => {
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

  it('is failing since the first failure after a run found it unchanged', async () => {
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

  it('is failing, not never, if a run found it unchanged but no good result is left', async () => {
    await found('acme/app', at(7));
    await failure('acme/app', at(8));
    expect(await stateOf()).toMatchObject({ state: 'failing', last_good_at: at(7) });
  });

  it('uses the latest check that the worker recorded for the repository, in any letter case', async () => {
    await result('Acme/App', at(1));
    await found('acme/app', at(9));
    await found('ACME/app', at(10));
    await found('acme/APP', null);
    expect(await stateOf()).toMatchObject({ state: 'good', last_good_at: at(10) });
  });

  it('is stale after 26 hours without a good result, and not earlier', async () => {
    await result('acme/app', at(9, 10));
    expect(await stateOf()).toMatchObject({ state: 'good' });
    await sql(routes.db, "UPDATE backup_results SET created_at = created_at - interval '1 us'");
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
      Promise.all(days.map((ago) => insertRun(routes.db, { status, started_at: daysAgo(ago) })));

    it('is stale after 182 hours if FRESHNESS_HOURS is less', async () => {
      await insertRuns([1, 8, 15, 22]);
      await result('acme/app', at(2, 22));
      expect(await stateOf()).toMatchObject({ state: 'good' });
      await sql(routes.db, "UPDATE backup_results SET created_at = created_at - interval '1 us'");
      expect(await stateOf()).toMatchObject({ state: 'stale' });
      expect(await bodyOf('/api/overview')).toMatchObject({
        freshness_hours: 182,
        repositories: { stale: 1 },
      });
    });

    it('is stale after FRESHNESS_HOURS if that is more', async () => {
      await insertRuns([1, 8, 15, 22]);
      await result('acme/app', at(2, 21));
      const { body } = await client({ FRESHNESS_HOURS: '183' }).get('/api/repos/acme/app');
      expect(body).toMatchObject({ state: 'good' });
    });

    it('is not judged by fewer than 3 finished runs', async () => {
      await sql(routes.db, 'TRUNCATE backup_runs CASCADE');
      await insertRuns([8, 15]);
      routes.run = (await insertRuns([1], 'running'))[0] ?? 0;
      await result('acme/app', at(5));
      expect(await stateOf()).toMatchObject({ state: 'stale' });
    });
  });

  it('is judged by an interval of at most a month if runs are further apart', async () => {
    for (const ago of [1, 200, 400, 600]) {
      await insertRun(routes.db, { status: 'completed', started_at: daysAgo(ago) });
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

  it('comes with the newest restorable version, in any letter case', async () => {
    await result('acme/app', at(10));
    for (const [repository, version, pruned_at] of [
      ['Acme/App', 1, null],
      ['Acme/App', 2, null],
      ['Acme/App', 3, at(9)],
      ['acme/other', 4, null],
    ] as const) {
      await sql(
        routes.db,
        'INSERT INTO archive_versions (repo_full_name, version, pruned_at) VALUES ($1, $2::int, $3::timestamptz)',
        [repository, version, pruned_at],
      );
    }
    expect(await bodyOf('/api/repos/acme/app')).toMatchObject({
      last_good_version: 2,
      last_good_age_ms: 12 * 3_600_000,
    });
  });

  it('distinguishes results of the same time by their ids', async () => {
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

  it('comes with a count of at most 1,000 failures, and the first failure', async () => {
    await sql(
      routes.db,
      `INSERT INTO backup_results (run_id, repo_full_name, status, created_at)
       SELECT $1::int, 'acme/app', 'failed', timestamptz '2026-03-01' + n * interval '1 minute'
       FROM generate_series(0, 1000) AS n`,
      [routes.run],
    );
    expect(await stateOf()).toMatchObject({ consecutive_failures: 1_000, failing_since: at(1) });
  });

  it('comes with an error message of at most 1,000 characters', async () => {
    await failure('acme/app', at(9), 'x'.repeat(5_000));
    const { error_message } = await stateOf();
    expect(error_message).toMatch(/^x{900,}… \[cut: \d+ more characters\]$/);
    expect(String(error_message).length).toBeLessThanOrEqual(1_000);
  });

  it('follows the remaining results after the newest was deleted', async () => {
    await result('acme/app', at(9, 12));
    const id = await failure('acme/app', at(10));
    await sql(routes.db, 'DELETE FROM backup_results WHERE id = $1::int', [id]);
    expect(await stateOf()).toMatchObject({ state: 'good', last_good_at: at(9, 12) });
  });
});
