import { beforeEach, describe, expect, it } from 'vitest';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger, someDrill } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-05-20T12:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
  await sql(
    database.db,
    'TRUNCATE objectives, repository_checks, worker_repo_state, archive_stores, forgotten_repositories RESTART IDENTITY',
  );
});

const client = () => createClient({ db: database.db, clock: createTestClock(NOW) });
const ago = (ms: number) => new Date(NOW - ms).toISOString();
const add = (more: object = {}) =>
  client().post('/api/objectives', { name: 'all', patterns: ['*'], rpo_hours: 24, ...more });

interface Attained {
  id: number;
  name: string;
  repositories: number;
  rpo: {
    attainment: number | null;
    measured_ms: number;
    met_ms: number;
    within_now: number;
    measured_since: string | null;
  } | null;
  rto: {
    attainment: number | null;
    drills: number;
    within: number;
    slowest_ms: number | null;
  } | null;
}
const read = async () =>
  (await client().get('/api/objectives')).body as {
    repositories_without: number;
    data: Attained[];
  };
const only = async () => (await read()).data[0];

/** Results of a repository, each with the time before now in hours. */
async function results(name: string, ...hours: (number | [number, string])[]): Promise<void> {
  const run = await insertRun(database.db);
  for (const one of hours) {
    const [before, status] = typeof one === 'number' ? [one, 'completed'] : one;
    await insertResult(database.db, run, name, { status, created_at: ago(before * HOUR) });
  }
}

describe('the attainment of an RPO', () => {
  it('is the share of the time in which the newest good backup was young enough', async () => {
    await add();
    // 100 hours: 24 are met after each of the first two, and all after the third. Failures change nothing.
    await results('ada/app', 100, [90, 'failed'], 60, [30, 'failed'], 10);
    const { rpo, repositories } = (await only()) ?? {};
    expect(repositories).toBe(1);
    expect(rpo).toEqual({
      attainment: 0.58,
      ...{ measured_ms: 100 * HOUR, met_ms: 58 * HOUR, within_now: 1 },
      measured_since: ago(100 * HOUR),
    });
  });

  it('is measured for 90 days at most, from the state at their beginning', async () => {
    await add();
    const daily = Array.from({ length: 95 }, (_, day) => day * 24 + 1);
    await results('ada/app', ...daily);
    expect((await only())?.rpo).toEqual({
      ...{ attainment: 1, measured_ms: 90 * DAY, met_ms: 90 * DAY, within_now: 1 },
      measured_since: ago(90 * DAY),
    });
    // Its last backup is from 12 hours before the 90 days, so half a day of them is met.
    await empty(database.db);
    await results('ada/app', 90 * 24 + 12);
    expect((await only())?.rpo).toMatchObject({ met_ms: 12 * HOUR, within_now: 0 });
  });

  it('counts checks that found a repository unchanged', async () => {
    const { db } = database;
    await add();
    await results('ada/app', 72);
    await sql(
      db,
      "INSERT INTO worker_repo_state (repo_full_name, checked_at) VALUES ('ada/app', $1)",
      [ago(72 * HOUR)],
    );
    for (const hours of [48, 47.5, 24, 1])
      await sql(db, 'UPDATE worker_repo_state SET checked_at = $1', [ago(hours * HOUR)]);
    expect((await only())?.rpo).toMatchObject({ attainment: 1, measured_ms: 72 * HOUR });
    // Those within an hour are one row.
    expect(await sql(db, 'SELECT id FROM repository_checks')).toHaveLength(3);
    await sql(db, 'UPDATE worker_repo_state SET checked_at = NULL');
    expect((await only())?.rpo).toMatchObject({ within_now: 1 });
  });

  it('counts nothing as met for a repository that was never good, nor after an archive was lost', async () => {
    await add();
    await results('ada/never', [50, 'failed'], [1, 'failed']);
    expect((await only())?.rpo).toMatchObject({
      attainment: 0,
      measured_ms: 50 * HOUR,
      within_now: 0,
    });
    await empty(database.db);
    await results('ada/gone', 20);
    await sql(
      database.db,
      "INSERT INTO worker_repo_state (repo_full_name, archive_missing_since) VALUES ('ada/gone', $1)",
      [ago(5 * HOUR)],
    );
    expect((await only())?.rpo).toMatchObject({
      met_ms: 15 * HOUR,
      measured_ms: 20 * HOUR,
      within_now: 0,
    });
  });

  it('ignores results from a clock that was ahead, and repositories that were forgotten', async () => {
    await add();
    await results('ada/app', 48, -100);
    expect((await only())?.rpo).toMatchObject({
      met_ms: 24 * HOUR,
      measured_ms: 48 * HOUR,
      within_now: 0,
    });
    expect(
      (await client().post('/api/repos/forget', { names: ['ada/app'], nothing_kept: ['ada/app'] }))
        .status,
    ).toBe(200);
    expect(await only()).toMatchObject({
      repositories: 0,
      rpo: { attainment: null, measured_ms: 0, measured_since: null },
    });
  });
});

describe('the attainment of an RTO', () => {
  const drill = (days: number, more: Partial<NewDrill> = {}) =>
    recordDrill(database.db, someDrill({ startedAt: ago(days * DAY), ...more }), null);

  it('is the share of the drills of 90 days that restored in time', async () => {
    await add({ rpo_hours: null, rto_minutes: 1 });
    await results('Ada/App', 1);
    await drill(1, { durationMs: 60_000 });
    await drill(2, { durationMs: 60_001 });
    await drill(3, { outcome: 'failed', reason: 'CORRUPT', durationMs: 1 });
    await drill(4, { outcome: 'incomplete', reason: 'no time' });
    await drill(91);
    await drill(-2);
    await drill(5, { evidence: { version: '1', git_version: '2', empty: true } });
    await drill(6, { repository: 'ada/other' });
    expect(await only()).toMatchObject({
      rpo: null,
      rto: { attainment: 0.3333, drills: 3, within: 1, slowest_ms: 60_001 },
    });
  });
});

describe('a group', () => {
  it('has the repositories that no earlier objective matches', async () => {
    for (const name of [
      'acme/web',
      'ACME/api',
      'acme/team/tool',
      'ada/web.site',
      'ada/x',
      'bob/web',
    ])
      await results(name, 1);
    await add({ name: 'rest', patterns: ['ada/?'], position: 9 });
    await add({ name: 'acme', patterns: ['acme/*'] });
    await add({ name: 'web', patterns: ['web', 'web.*', 'acme/**'], position: 1 });
    const { data, repositories_without } = await read();
    expect(data.map(({ name, repositories }) => [name, repositories])).toEqual([
      ['acme', 2],
      ['web', 3],
      ['rest', 1],
    ]);
    expect(repositories_without).toBe(0);
    await client().send('DELETE', `/api/objectives/${data[0]?.id}`);
    expect((await read()).data.map(({ repositories }) => repositories)).toEqual([5, 1]);
  });

  it.each<[object, string]>([
    [{ patterns: ['[a]'] }, 'patterns.0'],
    [{ patterns: ['****'] }, 'patterns.0'],
    [{ patterns: [] }, 'patterns'],
    [{ name: ' ' }, 'name'],
    [{ rpo_hours: null }, 'rpo_hours'],
    [{ rpo_hours: 0 }, 'rpo_hours'],
    [{ rto_minutes: 1.5 }, 'rto_minutes'],
  ])('is refused with %j', async (more, field) => {
    const { status, body } = await add(more);
    expect(status).toBe(400);
    expect((body as { error: string }).error).toContain(field);
    expect((await read()).data).toEqual([]);
  });

  it('is changed as a whole, and its name is unique', async () => {
    const { body } = await add();
    const { id } = body as { id: number };
    expect((await add({ name: 'ALL' })).status).toBe(409);
    await add({ name: 'other' });
    const put = (id: number, json: object) =>
      client().send('PUT', `/api/objectives/${id}`, undefined, json);
    const changed = {
      name: 'all',
      patterns: ['a/*', 'b/*'],
      position: 3,
      rpo_hours: 2,
      rto_minutes: 5,
    };
    expect(await put(id, changed)).toMatchObject({ status: 200, body: { id, ...changed } });
    expect((await put(id, { ...changed, name: 'Other' })).status).toBe(409);
    expect((await put(99, changed)).status).toBe(404);
    expect((await client().send('DELETE', '/api/objectives/99')).status).toBe(404);
  });

  it('is one of at most 20', async () => {
    for (let n = 0; n < 20; n++) await add({ name: `group ${n}` });
    expect((await add({ name: 'one more' })).body).toMatchObject({
      error: 'there are already 20 objectives: remove one first',
    });
  });
});

it('the evidence has the attainment of each objective', async () => {
  await add({ name: '<b>all</b>', rto_minutes: 1 });
  await results('ada/app', 48);
  await recordDrill(database.db, someDrill({ startedAt: ago(DAY) }), null);
  const { text } = await client().get('/api/evidence?from=2026-05-01&to=2026-06-01&format=html');
  expect(text).toContain('&lt;b&gt;all&lt;/b&gt; (*)');
  expect(text).toContain('50.00 %');
  expect(text).toContain('100.00 % (1 of 1 drill)');
});
