import { describe, expect, it } from 'vitest';
import { failed, good, useRules } from '../../support/alert-rules.ts';
import { ago, HOUR_MS } from '../../support/incidents.ts';
import { insertResult, sql } from '../../support/records.ts';

const { database, clock, opened, run, results } = useRules();

it('no incident opens while all backups are good', async () => {
  for (let n = 0; n < 8; n++) await run(1 + n * 24);
  await results('o/a', good);
  expect(await opened()).toEqual([]);
});

describe('repositories', () => {
  it('are stale when they were last good too long ago', async () => {
    const id = await run(40);
    await insertResult(database.db, id, 'o/old', { created_at: ago(clock, 40 * HOUR_MS) });
    await results('o/new', good);
    expect(await opened()).toMatchObject([{ rule: 'repository_stale', repositories: ['o/old'] }]);
  });

  it('fail after two failures in a row, or as many as ALERT_FAILING_AFTER says', async () => {
    await results('o/once', good, failed(null));
    await results('o/twice', good, failed(null), failed(null));
    await results('o/mended', failed(null), failed(null), good);
    expect(await opened()).toMatchObject([
      { rule: 'repository_failing', repositories: ['o/twice'] },
    ]);
    expect(await opened({ ALERT_FAILING_AFTER: '1' })).toMatchObject([
      { repositories: ['o/once', 'o/twice'] },
    ]);
    expect(await opened({ ALERT_FAILING_AFTER: '3' })).toMatchObject([{ repositories: [] }]);
  });

  it('fail at once if they no longer exist at their source, or are already out of date', async () => {
    await results('o/gone', good, failed('missing'));
    const id = await run(60);
    await insertResult(database.db, id, 'o/late', { created_at: ago(clock, 60 * HOUR_MS) });
    await insertResult(database.db, id, 'o/late', {
      ...failed(null),
      created_at: ago(clock, HOUR_MS),
    });
    expect(await opened()).toMatchObject([
      { rule: 'repository_failing', repositories: ['o/gone', 'o/late'] },
    ]);
    const reasons = await sql<{ reason: string }>(
      database.db,
      'SELECT reason FROM incident_repositories ORDER BY repository_name',
    );
    expect(reasons.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/; its last good backup is of 20\S+ \S+ UTC$/),
      expect.not.stringContaining('last good backup'),
    ]);
  });

  it('are only in the incident of the login or the destination if that is why they fail', async () => {
    for (const name of ['o/a', 'o/b']) await results(name, failed('login'), failed('login'));
    await results('o/c', failed('push'), failed('push'));
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 'destination', repositories: ['o/c'] },
      { rule: 'login_expired', subject: '', repositories: ['o/a', 'o/b'] },
    ]);
  });
});

describe('destination_unreachable', () => {
  const store = (name: string, at: string, hoursAgo: number, triedHoursAgo = 1) =>
    sql(
      database.db,
      `INSERT INTO archive_stores (repo_full_name, store, failing_since, reason, tried_at)
       VALUES ($1, $2, $3, 'it is away', $4)`,
      [name, at, ago(clock, hoursAgo * HOUR_MS), ago(clock, triedHoursAgo * HOUR_MS)],
    );

  it('is one incident per store, with the repositories that it lacks', async () => {
    await store('o/a', 's3://one/x', 5);
    await store('o/b', 's3://one/x', 4);
    await store('o/b', 's3://two/x', 4);
    await results('o/b', failed('store'), failed('store'));
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 's3://one/x', repositories: ['o/a', 'o/b'] },
      { rule: 'destination_unreachable', subject: 's3://two/x', repositories: ['o/b'] },
    ]);
  });

  it('distinguishes what a store lacks from what it could not be reached for', async () => {
    for (const name of ['o/a', 'o/b', 'o/c']) {
      await store(name, 's3://one/x', 5);
      await store(name, 'git+file:///x', 5);
    }
    const unreached = (names: string) =>
      sql(database.db, `UPDATE archive_stores SET fault = 'unreached' WHERE ${names}`);
    await unreached("store = 's3://one/x' AND repo_full_name > 'o/a'");
    await unreached("store LIKE 'git%'");
    expect((await opened()).map(({ summary }) => summary)).toEqual([
      'git+file:///x could not be reached for 3 repositories',
      's3://one/x lacks the newest archive of 1 repository, and could not be reached for 2 others',
    ]);
  });

  it('ends for a store that runs have not used for a week', async () => {
    await store('o/a', 's3://former/x', 24 * 20, 24 * 8);
    await run(1);
    expect(await opened()).toEqual([]);
  });

  it('continues until the next run, even if runs are more than a week apart', async () => {
    await run(24 * 8);
    await store('o/a', 's3://one/x', 24 * 20, 24 * 8);
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 's3://one/x' },
    ]);
  });

  it('is a single incident if a store has the name of the unnamed destination', async () => {
    await store('o/a', 'destination', 5);
    await results('o/c', failed('push'), failed('push'));
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 'destination', repositories: ['o/a', 'o/c'] },
    ]);
  });
});
