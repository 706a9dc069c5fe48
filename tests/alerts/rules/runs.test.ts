import { describe, expect, it } from 'vitest';
import { rules } from '../../../lib/alerts/rules/rules.ts';
import type { Environment } from '../../../lib/config/read.ts';
import type { SqlValue } from '../../../lib/database/database.ts';
import { failed, good, useRules } from '../../support/alert-rules.ts';
import { ago, HOUR_MS, listStored } from '../../support/incidents.ts';
import { empty, insertResult, sql } from '../../support/records.ts';

const { database, clock, opened, run, results } = useRules();

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

  it('ends after a run that did not fail', async () => {
    await run(3, { status: 'failed' });
    await run(1);
    expect(await opened()).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM'])(
    'ignores a run that was stopped on purpose (%s), and continues about the one before',
    async (stopped_by) => {
      await run(3);
      await run(1, { status: 'failed', stopped_by });
      expect(await opened()).toEqual([]);
      await run(2, { status: 'failed', error_message: 'the disk is full' });
      expect(await opened()).toMatchObject([
        { rule: 'run_failed', summary: expect.stringContaining('the disk is full') },
      ]);
    },
  );

  it.each([
    { error_message: 'interrupted by SIGHUP', stopped_by: 'SIGHUP' },
    { error_message: 'interrupted by SIGINT' },
  ])('is about one that failed for another reason: %j', async (why) => {
    await run(1, { status: 'failed', ...why });
    expect(await opened()).toMatchObject([{ rule: 'run_failed' }]);
  });

  it('is about a run that does not say why it failed', async () => {
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
      'INSERT INTO host_logins (git_host_url, reason, refused_since, refused_run_id) VALUES ($1, $2, $3, 1)',
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

describe('a run that failed without its archives or its login', () => {
  const message = 'the archive folder /a has none of its 2 archives: is its disk mounted?';
  const lost = (kind: string) =>
    sql(
      database.db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_missing_since, archive_missing, archive_missing_kind)
       VALUES ('o/a', 'o__a.bundle', now(), $1, $2)`,
      [message, kind],
    );
  const rules = async () => (await opened()).map(({ rule }) => rule);

  it('leaves an archive folder without archives to the incident about the archives', async () => {
    await run(1, { status: 'failed', error_message: message, fault: 'no_archives' });
    await lost('folder');
    expect(await rules()).toEqual(['archive_lost']);
  });

  it.each([
    ['the archives are gone, but the run failed for another reason', null, 'folder'],
    ['the run found none, but since then only one is gone', 'no_archives', 'bundle'],
  ])('is told as well: %s', async (_, fault, kind) => {
    await run(1, { status: 'failed', error_message: message, fault });
    await lost(kind);
    expect((await rules()).toSorted()).toEqual(['archive_lost', 'run_failed']);
  });

  it('is told if another run with the same message was refused', async () => {
    const same = { status: 'failed', error_message: 'log in again' };
    await run(2, same);
    await run(1, same);
    await sql(
      database.db,
      `INSERT INTO host_logins (git_host_url, reason, refused_since, refused_run_id)
       VALUES ('https://git.example', 'log in again', now(), 1)`,
    );
    expect((await rules()).toSorted()).toEqual(['login_expired', 'run_failed']);
  });
});

describe('a run in which every repository failed', () => {
  const failedRun = async (counts: Record<string, SqlValue> = {}) => {
    const id = await run(1, { total_repos: 2, failed: 2, ...counts });
    for (const name of ['o/a', 'o/b']) await insertResult(database.db, id, name, failed(null));
  };

  it('is an incident at once, even if it is the first run', async () => {
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
    'is no incident at the first failure if another repository succeeded: %j',
    async (counts) => {
      await failedRun(counts);
      expect(await opened()).toEqual([]);
    },
  );

  it('is no incident if it was asked for only a few of many repositories', async () => {
    for (const name of ['o/c', 'o/d', 'o/e']) await results(name, good);
    await failedRun({ started_at: ago(clock, 0) });
    expect(await opened()).toEqual([]);
  });

  it('says nothing about repositories that failed once in an earlier run', async () => {
    const before = await run(2, { total_repos: 2, failed: 1, successful: 1 });
    await insertResult(database.db, before, 'o/earlier', failed(null));
    await failedRun();
    expect(await opened()).toMatchObject([{ repositories: ['o/a', 'o/b'] }]);
  });
});

describe('run_slow', () => {
  const slow = async (environment: Environment = {}) =>
    (await opened(environment)).filter(({ rule }) => rule === 'run_slow');
  const active = (minutes: number, row: Record<string, SqlValue> = {}) =>
    run(minutes / 60, {
      ...{ status: 'running', exclusive_key: 'worker', heartbeat_at: ago(clock, 60_000) },
      ...row,
    });

  it('is about an active run that takes more than twice its usual time and over 30 minutes', async () => {
    for (const minutes of [1, 20, 90]) await run(24, { duration_ms: minutes * 60_000 });
    await active(40);
    expect(await slow()).toEqual([]);
    clock.advance(60_000);
    expect(await slow()).toMatchObject([
      {
        subject: '',
        summary: expect.stringMatching(
          /^Run 4 has been active for 41 min, .+usually takes 20 min: /,
        ),
      },
    ]);
  });

  it('is not about a short one', async () => {
    await run(24, { duration_ms: 1_000 });
    await active(30);
    expect(await slow()).toEqual([]);
  });

  it('is not about one that was killed, which counts as failed soon', async () => {
    await run(24, { duration_ms: 1_000 });
    await active(60, { heartbeat_at: ago(clock, 11 * 60_000) });
    expect(await slow()).toEqual([]);
  });

  it('measures the first run by BACKUP_EVERY', async () => {
    await active(61);
    expect(await slow()).toEqual([]);
    expect(await slow({ BACKUP_EVERY: '2h' })).toEqual([]);
    expect(await slow({ BACKUP_EVERY: '1h' })).toHaveLength(1);
  });

  it('measures the first run of `--every` by its interval', async () => {
    await active(61, { schedule_ms: HOUR_MS });
    expect(await slow({ BACKUP_EVERY: '2h' })).toEqual([]);
    expect(await slow()).toHaveLength(1);
  });

  it('allows a first run of which nothing else is known two hours', async () => {
    await active(120);
    expect(await slow()).toEqual([]);
    clock.advance(60_000);
    expect(await slow()).toHaveLength(1);
  });

  it('does not measure a first run that a person started', async () => {
    await active(600, { schedule_ms: 0 });
    expect(await slow()).toEqual([]);
  });
});

describe('run_missed', () => {
  const isMissed = async (environment: Environment = {}) =>
    (await opened(environment)).some(({ rule }) => rule === 'run_missed');

  it('follows BACKUP_EVERY, with a grace period of a twelfth', async () => {
    await run(26.1);
    expect(await isMissed({ BACKUP_EVERY: '25h' })).toBe(false);
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(true);
  });

  it('gives a short interval a grace period of at least 15 minutes', async () => {
    await run(40 / 60);
    expect(await isMissed({ BACKUP_EVERY: '30m' })).toBe(false);
    clock.advance(6 * 60_000);
    expect(await isMissed({ BACKUP_EVERY: '30m' })).toBe(true);
  });

  it('ignores a run that was stopped on purpose, both as the last one and for the interval', async () => {
    const stopped = { status: 'failed', stopped_by: 'SIGINT' };
    await run(27);
    await run(1, stopped);
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(true);
    for (let n = 1; n < 6; n++) {
      await run(27 + n * 24);
      await run(28 + n * 24, stopped);
    }
    expect((await opened()).at(-1)?.summary).toContain('every 24 h');
  });

  it('learns the interval of evenly spaced runs', async () => {
    for (let n = 0; n < 6; n++) await run(27 + n * 24);
    const [found] = await opened();
    expect(found).toMatchObject({ rule: 'run_missed' });
    expect(found?.summary).toMatch(
      /^Runs start every 24 h, but run 1 of \d{4}-\d\d-\d\d \d\d:\d\d UTC was the last one:/,
    );
  });

  it('learns nothing from too few runs, uneven runs, or runs started by hand', async () => {
    for (let n = 0; n < 5; n++) await run(27 + n * 24);
    expect(await isMissed()).toBe(false);
    for (const hours of [200, 201, 202, 300, 301, 302]) await run(hours);
    expect(await isMissed()).toBe(false);
    await empty(database.db);
    for (let n = 0; n < 20; n++) await run(30 + n / 60);
    expect(await isMissed()).toBe(false);
  });

  it('ignores a run that is under way, however long it takes', async () => {
    await run(80, { status: 'running' });
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
  });

  it('counts from the first evaluation if no run ever started, or only one that was stopped on purpose', async () => {
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
    for (const hours of [25, 1]) {
      expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
      clock.advance(hours * HOUR_MS);
    }
    await run(1, { status: 'failed', stopped_by: 'SIGINT' });
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
    clock.advance(60_000);
    expect(await isMissed()).toBe(false);
    const [found] = await opened({ BACKUP_EVERY: '24h' });
    expect(found).toMatchObject({ rule: 'run_missed' });
    expect(found?.summary).toMatch(
      /^Runs start every 24 h, but none has started since \d{4}-\d\d-\d\d \d\d:\d\d UTC:/,
    );
  });

  it('ends as soon as the first run is under way', async () => {
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(false);
    clock.advance(27 * HOUR_MS);
    expect(await isMissed({ BACKUP_EVERY: '24h' })).toBe(true);
    await run(0, { status: 'running' });
    await opened({ BACKUP_EVERY: '24h' });
    expect(await listStored(database.db)).toMatchObject([{ rule: 'run_missed', is_open: false }]);
  });
});

describe('an unread source', () => {
  const unread = (hoursAgo: number, scheduleMs: number | null, ...sources: string[]) =>
    run(hoursAgo, {
      schedule_ms: scheduleMs,
      unread_sources: JSON.stringify(
        Object.fromEntries(sources.map((source) => [source, 'there is no folder'])),
      ),
    });
  const readSource = async (repository: string, address: string, hoursAgo: number) => {
    const { db } = database;
    const source = 'INSERT INTO repository_sources (repo_full_name, address) VALUES ($1, $2)';
    await sql(db, source, [repository, address]);
    const state = 'INSERT INTO worker_repo_state (repo_full_name, checked_at) VALUES ($1, $2)';
    await sql(db, state, [repository, ago(clock, hoursAgo * HOUR_MS)]);
  };
  const stillOpen = async () => {
    await opened();
    const open = (await listStored(database.db)).filter(({ is_open }) => is_open);
    return open.filter(({ rule }) => `${rule}`.startsWith('source_')).map(({ subject }) => subject);
  };

  it.each([
    ['a warning after a run by hand', 0, 'source_unread_by_hand', 'warning'],
    ['critical after a scheduled run', HOUR_MS, 'source_unread', 'critical'],
    ['critical if it is unknown what started the run', null, 'source_unread', 'critical'],
  ] as const)('is %s', async (_what, scheduleMs, rule, severity) => {
    await unread(1, scheduleMs, '/srv/xx');
    expect(await opened()).toMatchObject([
      {
        ...{ rule, subject: '/srv/xx' },
        summary: 'Run 1 could not read the source /srv/xx (there is no folder)',
      },
    ]);
    expect(rules[rule].severity).toBe(severity);
  });

  it('is an incident of its own, which ends alone', async () => {
    await unread(3, null, '/srv/xx', '/srv/yy');
    expect(await stillOpen()).toEqual(['/srv/xx', '/srv/yy']);
    await unread(2, null, '/srv/yy', '/srv/zz');
    expect(await stillOpen()).toEqual(['/srv/yy', '/srv/zz']);
    await run(1);
    expect(await stillOpen()).toEqual([]);
  });

  it.each([
    ['failed', { status: 'failed', error_message: 'DATA_DIR does not answer' }],
    ['was stopped', { status: 'failed', stopped_by: 'SIGINT' }],
    ['was started by hand, and given something else', { schedule_ms: 0 }],
  ])('stays open after a run that %s', async (_what, row) => {
    await unread(2, null, '/srv/xx');
    await run(1, row);
    expect(await stillOpen()).toEqual(['/srv/xx']);
  });

  it.each([
    ['itself', '/srv/xx'],
    ['a repository in it', '/srv/xx/app'],
  ])(
    'ends as soon as a run has read %s, also one by hand that was stopped',
    async (_what, address) => {
      await unread(2, null, '/srv/xx');
      await run(1, { status: 'failed', stopped_by: 'SIGINT', schedule_ms: 0 });
      await readSource('local/xx', address, 1);
      expect(await stillOpen()).toEqual([]);
    },
  );

  it('stays open if only another source was read, or it was read earlier', async () => {
    await unread(2, null, '/srv/xx');
    await readSource('local/xxx', '/srv/xxx', 1);
    await readSource('local/xx', '/srv/xx', 3);
    expect(await stillOpen()).toEqual(['/srv/xx']);
  });

  it('of a run by hand ends after any run that could read each source', async () => {
    await unread(2, 0, '/srv/xx');
    await run(1);
    expect(await stillOpen()).toEqual([]);
  });

  it('is counted with others beyond the first twenty', async () => {
    const sources = Array.from({ length: 25 }, (_, index) => `/srv/${100 + index}`);
    await unread(1, null, ...sources);
    const found = await opened();
    expect(found).toHaveLength(21);
    expect(found.find(({ subject }) => subject === '')?.summary).toBe(
      '5 more sources could not be read: the page of run 1 names them',
    );
  });
});
