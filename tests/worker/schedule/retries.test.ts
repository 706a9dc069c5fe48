import type { Context } from 'hono';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../lib/clock.ts';
import { createTestClock } from '../../support/clock.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let rests: number[];

/** Besides pausing before retries, a run waits to write its progress, for its heartbeat, and for stalled transfers. */
const isRest = (ms: number) => ms > 1_000 && ms < 30_000;

/** A clock whose pauses before retries end at once and are recorded; all other waits stand still. */
function restless(): Clock {
  const clock = createTestClock();
  return {
    now: clock.now,
    sleep(ms, signal) {
      const slept = clock.sleep(ms, signal);
      if (!isRest(ms)) return slept;
      rests.push(ms);
      clock.advance(ms);
      return slept;
    },
  };
}

beforeEach(async () => {
  rests = [];
  await bench.add({ fullName: 'team/a' });
  await bench.add({ fullName: 'team/b' });
  await bench.logIn();
});

const run = () =>
  bench.run({ databaseUrl: database.url, clock: restless(), env: { BACKUP_CONCURRENCY: '1' } });
const results = () =>
  rowsOf(
    database.db,
    'SELECT repo_full_name, status, error_message FROM backup_results ORDER BY repo_full_name',
  );
const lastRun = '(SELECT max(id) FROM backup_runs)';
const requestsFor = (name: string) =>
  bench.http.requests.filter(({ path }) => path.startsWith(`/${name}.git`)).length;

/** Fails the first requests with this status, and serves the following ones. */
function failFirst(name: string, times: number, status: 403 | 429 | 503, text = 'oops') {
  let left = times;
  bench.http.answers.set(name, (c: Context) =>
    left-- > 0 ? c.text(text, status) : bench.http.serve(c),
  );
}

describe('a fault of the host', () => {
  it('is retried in the same run after the other repositories, if it passes', async () => {
    failFirst('team/a', 1, 503);
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
    expect(rests).toHaveLength(1);
    expect(rests[0]).toBeGreaterThanOrEqual(2_000);
    expect(rests[0]).toBeLessThanOrEqual(2_500);
    const lines = `SELECT level, message FROM execution_logs WHERE repository = 'team/a' AND run_id = ${lastRun} ORDER BY id`;
    expect(await rowsOf(database.db, lines)).toEqual([
      { level: 'info', message: 'no archive yet, fetching' },
      {
        level: 'warn',
        message: expect.stringMatching(/returned error: 503 \(try 2 of 3 in 2(\.\d)? s\)$/),
      },
      { level: 'info', message: 'no archive yet, fetching' },
      { level: 'info', message: expect.stringMatching(/^archived/) },
    ]);
  });

  it('fails the repository with the last reason and the number of tries, if it persists', async () => {
    failFirst('team/a', 99, 503);
    expect(await run()).toMatchObject({ code: 1 });
    expect(rests).toHaveLength(2);
    expect(rests[1]).toBeGreaterThanOrEqual(8_000);
    expect(rests[1]).toBeLessThanOrEqual(10_000);
    expect(await results()).toEqual([
      {
        repo_full_name: 'team/a',
        status: 'failed',
        error_message: expect.stringMatching(/returned error: 503 \(tried 3 times\)$/),
      },
      { repo_full_name: 'team/b', status: 'completed', error_message: '' },
    ]);
  });

  it('is not retried if a retry would not help', async () => {
    failFirst('team/a', 99, 403);
    await run();
    expect(rests).toEqual([]);
    expect(requestsFor('team/a')).toBe(1);
    expect((await results())[0]).toMatchObject({
      error_message: expect.not.stringContaining('tried'),
    });
  });
});

it('a rate limit of the host is retried, even if it comes as 403', async () => {
  failFirst('team/a', 1, 403, 'You have exceeded a secondary rate limit');
  failFirst('team/b', 1, 429);
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
  expect(rests).toHaveLength(2);
});

it('a push that failed temporarily is retried without another clone', async () => {
  await bench.add({ fullName: 'ada/backups', private: true }, { installed: false });
  await bench.logIn('token', 'github:destination');
  let pushes = 0;
  bench.http.answers.set('ada/backups', (c) =>
    c.req.path.endsWith('git-receive-pack') && pushes++ === 0
      ? c.text('oops', 503)
      : bench.http.serve(c),
  );
  const env = {
    ...{ BACKUP_REPO_PATH: `${bench.host.url}/ada/backups.git`, BACKUP_REPO_LAYOUT: 'files' },
    BACKUP_CONCURRENCY: '1',
  };
  const ended = await bench.run({ databaseUrl: database.url, clock: restless(), env });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('2 backed up') });
  expect(rests).toHaveLength(1);
  expect(await results()).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  const clones = `SELECT count(*)::int AS clones FROM execution_logs WHERE message LIKE '%fetching' AND run_id = ${lastRun}`;
  expect(await rowsOf(database.db, clones)).toEqual([{ clones: 2 }]);
});

it('a repository that would not fit on the disk fails without affecting the others', async () => {
  await bench.add({ fullName: 'team/huge', size: 2 ** 42 });
  expect(await run()).toMatchObject({ code: 1 });
  expect(await results()).toMatchObject([
    { repo_full_name: 'team/a', status: 'completed' },
    { repo_full_name: 'team/b', status: 'completed' },
    {
      repo_full_name: 'team/huge',
      status: 'failed',
      error_message: expect.stringMatching(
        /^not enough disk space: about 8192\.0 TiB needed, .* free$/,
      ),
    },
  ]);
});
