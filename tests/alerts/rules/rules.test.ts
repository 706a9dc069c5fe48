import { beforeEach, describe, expect, it } from 'vitest';
import { evaluateRules } from '../../../lib/alerts/incidents/evaluate.ts';
import { ruleNames } from '../../../lib/alerts/rules/rule.ts';
import { rules } from '../../../lib/alerts/rules/rules.ts';
import type { Environment } from '../../../lib/config/read.ts';
import type { SqlValue } from '../../../lib/database/database.ts';
import { createTestClock } from '../../support/clock.ts';
import { emptyLedger } from '../../support/drills.ts';
import { useDatabase } from '../../support/hooks.ts';
import { ago, alertDeps, DAY_MS, HOUR_MS, listStored } from '../../support/incidents.ts';
import { empty, insertResult, insertRun, sql } from '../../support/records.ts';

const database = useDatabase();
const clock = createTestClock();
beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
});

/** The incidents that an evaluation opens. */
async function opened(environment: Environment = {}) {
  const deps = await alertDeps(database.db, [], { clock, environment });
  await evaluateRules(deps);
  expect(deps.logged.filter(({ message }) => message.includes('could not'))).toEqual([]);
  return (await listStored(database.db)).map(({ rule, subject, summary, repositories }) => ({
    ...{ rule, subject, summary, repositories },
  }));
}

const run = (hoursAgo: number, row: Record<string, SqlValue> = {}) =>
  insertRun(database.db, {
    ...{ status: 'completed', started_at: ago(clock, hoursAgo * HOUR_MS) },
    ...row,
  });

/** Results of a repository, the last one now. */
async function results(name: string, ...rows: Record<string, SqlValue>[]) {
  const id = await run(1);
  for (const [index, row] of rows.entries()) {
    const created_at = ago(clock, (rows.length - 1 - index) * HOUR_MS);
    await insertResult(database.db, id, name, { created_at, ...row });
  }
}

const failed = (fault: string | null, error_message = 'it broke') => ({
  ...{ status: 'failed', fault, error_message },
});
const good = { status: 'completed' };

it('all rules have the name under which they are listed', () => {
  expect(ruleNames.map((name) => rules[name].name)).toEqual(ruleNames);
});

it('all times have one form', async () => {
  const expires = (days: number) => ago(clock, -days * DAY_MS);
  await sql(
    database.db,
    `INSERT INTO host_logins (git_host_url, expires_at) VALUES ('https://a.example', $1), ('https://b.example', $2)`,
    [expires(-1), expires(1)],
  );
  const id = await run(40);
  await insertResult(database.db, id, 'o/old', { created_at: ago(clock, 40 * HOUR_MS) });
  const summaries = (await opened({ BACKUP_EVERY: '24h' })).map(({ summary }) => summary);
  const reasons = await sql<{ reason: string }>(
    database.db,
    'SELECT reason FROM incident_repositories',
  );
  const texts = [...summaries, ...reasons.map(({ reason }) => reason)].join('\n');
  expect(texts.match(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g)).toHaveLength(4);
  expect(texts).not.toMatch(/\d\dZ|\dT\d/);
});

it('nothing is opened about backups that are good', async () => {
  for (let n = 0; n < 8; n++) await run(1 + n * 24);
  await results('o/a', good);
  expect(await opened()).toEqual([]);
});

describe('run_failed', () => {
  it('is about the newest run that ended', async () => {
    await run(3, { status: 'failed', error_message: 'the disk is full' });
    await run(1, { status: 'running' });
    expect(await opened()).toEqual([
      {
        ...{ rule: 'run_failed', subject: '', repositories: [] },
        summary: expect.stringContaining('the disk is full'),
      },
    ]);
  });

  it('is over after one that did not fail', async () => {
    await run(3, { status: 'failed' });
    await run(1);
    expect(await opened()).toEqual([]);
  });

  it.each(['interrupted by SIGINT', 'interrupted by SIGTERM (on nas)'])(
    'is not about one that somebody stopped (%s), and goes on for the one before',
    async (error_message) => {
      await run(3);
      await run(1, { status: 'failed', error_message });
      expect(await opened()).toEqual([]);
      await run(2, { status: 'failed', error_message: 'the disk is full' });
      expect(await opened()).toMatchObject([
        { rule: 'run_failed', summary: expect.stringContaining('the disk is full') },
      ]);
    },
  );

  it.each([
    'interrupted by SIGHUP',
    'git was interrupted by SIGINT',
    'interrupted by SIGINTERN',
    'interrupted by SIGINT while it waited',
  ])('is about one that failed for another reason: %s', async (error_message) => {
    await run(1, { status: 'failed', error_message });
    expect(await opened()).toMatchObject([{ rule: 'run_failed' }]);
  });

  it('is about one that does not say why', async () => {
    await run(1, { status: 'failed', error_message: null });
    expect(await opened()).toMatchObject([{ summary: 'Run 1 failed: no reason was recorded' }]);
  });

  it('leaves a refused login to its own incident', async () => {
    const error_message = 'discovery failed: log in again';
    await run(1, { status: 'failed', error_message });
    const refused_since = ago(clock, HOUR_MS);
    const login = { git_host_url: 'https://git.example', reason: error_message, refused_since };
    await sql(
      database.db,
      'INSERT INTO host_logins (git_host_url, reason, refused_since) VALUES ($1, $2, $3)',
      Object.values(login),
    );
    expect(await opened()).toEqual([
      {
        ...{ rule: 'login_expired', subject: 'https://git.example', repositories: [] },
        summary: error_message,
      },
    ]);
  });
});

describe('a run in which every repository failed', () => {
  const failedRun = async (counts: Record<string, SqlValue> = {}) => {
    const id = await run(1, { total_repos: 2, failed: 2, ...counts });
    for (const name of ['o/a', 'o/b']) await insertResult(database.db, id, name, failed(null));
  };

  it('is one incident at once, also if it is the first one', async () => {
    await failedRun();
    expect(await opened()).toEqual([
      {
        ...{ rule: 'repository_failing', subject: '', repositories: ['o/a', 'o/b'] },
        summary: '2 repositories cannot be backed up',
      },
    ]);
    await failedRun();
    expect(await opened()).toHaveLength(1);
  });

  it.each([{ successful: 1 }, { skipped: 1 }])(
    'is none at the first failure if another one went well: %j',
    async (counts) => {
      await failedRun(counts);
      expect(await opened()).toEqual([]);
    },
  );

  it('is none if it was asked for a few of many', async () => {
    for (const name of ['o/c', 'o/d', 'o/e']) await results(name, good);
    await failedRun({ started_at: ago(clock, 0) });
    expect(await opened()).toEqual([]);
  });

  it('says nothing of repositories that failed once in an earlier run', async () => {
    const before = await run(2, { total_repos: 2, failed: 1, successful: 1 });
    await insertResult(database.db, before, 'o/earlier', failed(null));
    await failedRun();
    expect(await opened()).toMatchObject([{ repositories: ['o/a', 'o/b'] }]);
  });
});

describe('run_missed', () => {
  const isMissed = async (environment: Environment = {}) =>
    (await opened(environment)).some(({ rule }) => rule === 'run_missed');

  it('follows BACKUP_EVERY, with a twelfth of grace', async () => {
    await run(26.1);
    expect(await isMissed({ BACKUP_EVERY: '25h' })).toBe(false);
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(true);
  });

  it('gives a short interval at least 15 minutes of grace', async () => {
    await run(40 / 60);
    expect(await isMissed({ BACKUP_EVERY: '30m' })).toBe(false);
    clock.advance(6 * 60_000);
    expect(await isMissed({ BACKUP_EVERY: '30m' })).toBe(true);
  });

  it('does not count a run that somebody stopped, neither as the last one nor for the interval', async () => {
    const stopped = { status: 'failed', error_message: 'interrupted by SIGINT' };
    await run(27);
    await run(1, stopped);
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(true);
    for (let n = 1; n < 6; n++) {
      await run(27 + n * 24);
      await run(28 + n * 24, stopped);
    }
    expect((await opened()).at(-1)?.summary).toContain('every 24 h');
  });

  it('learns the interval of runs that are evenly apart', async () => {
    for (let n = 0; n < 6; n++) await run(27 + n * 24);
    const [found] = await opened();
    expect(found).toMatchObject({ rule: 'run_missed' });
    expect(found?.summary).toMatch(
      /^Runs start every 24 h, but run 1 of \d{4}-\d\d-\d\d \d\d:\d\d UTC was the last one:/,
    );
  });

  it('learns nothing of too few runs, of uneven ones, or of runs by hand', async () => {
    for (let n = 0; n < 5; n++) await run(27 + n * 24);
    expect(await isMissed()).toBe(false);
    for (const hours of [200, 201, 202, 300, 301, 302]) await run(hours);
    expect(await isMissed()).toBe(false);
    await empty(database.db);
    for (let n = 0; n < 20; n++) await run(30 + n / 60);
    expect(await isMissed()).toBe(false);
  });

  it('is not about a run that is under way, however long', async () => {
    await run(80, { status: 'running' });
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
  });
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

  it('fail at once if they are gone at their source, or out of date already', async () => {
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
  });

  it('that fail for the login or the destination are in the incident of that, and in no other', async () => {
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

  it('is an incident for each store, with the repositories that it lacks', async () => {
    await store('o/a', 's3://one/x', 5);
    await store('o/b', 's3://one/x', 4);
    await store('o/b', 's3://two/x', 4);
    await results('o/b', failed('store'), failed('store'));
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 's3://one/x', repositories: ['o/a', 'o/b'] },
      { rule: 'destination_unreachable', subject: 's3://two/x', repositories: ['o/b'] },
    ]);
  });

  it('ends for a store that runs have not used for a week', async () => {
    await store('o/a', 's3://former/x', 24 * 20, 24 * 8);
    await run(1);
    expect(await opened()).toEqual([]);
  });

  it('goes on until the next run, although runs are more than a week apart', async () => {
    await run(24 * 8);
    await store('o/a', 's3://one/x', 24 * 20, 24 * 8);
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 's3://one/x' },
    ]);
  });

  it('is one incident for a store that has the name of the others', async () => {
    await store('o/a', 'destination', 5);
    await results('o/c', failed('push'), failed('push'));
    expect(await opened()).toMatchObject([
      { rule: 'destination_unreachable', subject: 'destination', repositories: ['o/a', 'o/c'] },
    ]);
  });
});

describe('logins', () => {
  const login = (expiresInDays: number) =>
    sql(database.db, 'INSERT INTO host_logins (git_host_url, expires_at) VALUES ($1, $2)', [
      `https://${expiresInDays}.example`,
      ago(clock, -expiresInDays * DAY_MS),
    ]);

  it('end soon within 14 days, and have ended after that', async () => {
    for (const days of [-1, 13, 15]) await login(days);
    expect(await opened()).toMatchObject([
      { rule: 'login_expired', subject: 'https://-1.example' },
      { rule: 'login_expiring', subject: 'https://13.example' },
    ]);
  });

  it.each([
    [1, 0, 'are over'],
    [8.5 * 24, 3, 'go on, if there was no run since'],
  ])('that were used 8 days ago, with a run %d hours ago: %d %s', async (hoursAgo, count) => {
    for (const days of [-1, 13]) await login(days);
    await sql(
      database.db,
      "INSERT INTO host_logins (git_host_url, refused_since, reason) VALUES ('https://former.example', now(), 'no')",
    );
    await sql(database.db, 'UPDATE host_logins SET seen_at = $1', [ago(clock, 8 * DAY_MS)]);
    await run(hoursAgo);
    expect(await opened()).toHaveLength(count);
  });
});

describe('disk_filling', () => {
  const measured = (machine: string, daysAgo: number, freeGiB: number) => {
    const at = ago(clock, daysAgo * DAY_MS);
    const values = [machine, at.slice(0, 10), at, freeGiB * 2 ** 30];
    return sql(
      database.db,
      `INSERT INTO archive_disks (machine, day, host_name, measured_at, free_bytes, total_bytes)
       VALUES ($1, $2, 'nas', $3, $4::bigint, 1099511627776)`,
      values,
    );
  };

  it('is about a disk that is full in 14 days at the growth of the last 7', async () => {
    await measured('fast', 20, 500);
    await measured('fast', 7, 170);
    await measured('fast', 0, 100);
    await measured('slow', 7, 149);
    await measured('slow', 0, 100);
    await measured('emptied', 7, 50);
    await measured('emptied', 0, 100);
    await measured('new', 0, 1);
    await measured('former', 30, 100);
    await measured('former', 25, 1);
    expect(await opened()).toEqual([
      {
        ...{ rule: 'disk_filling', subject: 'fast', repositories: [] },
        summary: 'nas has 100.0 GiB left for archives and uses 10.0 GiB a day: full in 10 days',
      },
    ]);
  });
});

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

  it('is about the last drill that came to a result', async () => {
    await drill('o/bad', 9, 'proven');
    await drill('o/bad', 8, 'failed');
    await drill('O/Bad', 7, 'incomplete');
    await drill('o/proven', 6, 'failed');
    await drill('O/proven', 5, 'proven');
    // By clocks that were ahead.
    await drill('o/hidden', 4, 'failed');
    await drill('o/hidden', -9_000, 'proven');
    await drill('o/ahead', -9_000, 'failed');
    await drill('o/mended', -9_000, 'failed');
    await drill('o/mended', 3, 'proven');
    // Recorded before the failure, by a clock that was ahead, and its time has come.
    await drill('o/early', 2, 'proven');
    await drill('o/early', 3, 'failed');
    expect(await opened()).toMatchObject([
      { rule: 'drill_failed', repositories: ['o/ahead', 'o/bad', 'o/early', 'o/hidden'] },
    ]);
  });

  it('says where and which version, if the drill came so far, and names a store once', async () => {
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

  describe('of a repository of which no archive was found', () => {
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

    it('ends when a discovery after it does not see the repository', async () => {
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

    it('stays open for one that the discovery sees, or that a run has tried or found good since', async () => {
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

    it('stays open for one of which an archive is there, however long nobody has seen the repository', async () => {
      await discover('o/other', 1);
      await drill('o/kept', 300 * 24, 'failed');
      expect(await failing()).toEqual(['o/kept']);
    });
  });
});

describe('anomaly', () => {
  it('is about those that nobody has confirmed', async () => {
    await sql(
      database.db,
      `INSERT INTO anomalies (repo_full_name, run_id, version, kind, change_count, confirmed_at) VALUES
         ('o/a', 1, 2, 'branches_rewritten', 1, NULL), ('o/a', 1, 2, 'shrunk', 1, NULL),
         ('o/b', 1, 2, 'tags_deleted', 1, now()), (NULL, 1, NULL, 'missing', 7, NULL)`,
    );
    expect(await opened()).toMatchObject([
      { rule: 'anomaly', subject: '', repositories: ['o/a'] },
      { rule: 'anomaly', subject: 'missing', summary: expect.stringMatching(/^7 repositories/) },
    ]);
    const [listed] = await sql<{ reason: string }>(
      database.db,
      'SELECT reason FROM incident_repositories',
    );
    expect(listed?.reason).toBe('branches were rewritten, it shrank to half or less');
  });
});
