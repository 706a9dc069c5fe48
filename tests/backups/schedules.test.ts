import { beforeEach, describe, expect, it } from 'vitest';
import { createBackupsApp } from '../../lib/backups/app.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const start = '2026-03-28T12:00:00Z';

/** The parts of answers that the tests look up. */
type Answer = { id: number; schedules: unknown[] };

let woken: number;

beforeEach(async () => {
  await sql(database.db, 'TRUNCATE schedules, backup_runs CASCADE');
  woken = 0;
});

const open = (environment: Record<string, string> = {}) => {
  const clock = createTestClock(Date.parse(start));
  const deps = createTestDeps({
    ...{ db: database.db, clock },
    environment: { BACKUP_TIME_ZONE: 'Europe/Berlin', ...environment },
  });
  const app = createBackupsApp(deps, { scheduler: { wake: () => void woken++ } });
  return async (method: string, path = '', body?: unknown) => {
    const answer = await app.request(`/api/schedules${path}`, {
      method,
      headers: { ...withSecret, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
};

it('adds a schedule, and lists its next times across a change of the clocks', async () => {
  const ask = open();
  const made = await ask('POST', '', { timing: ' daily at 02:30 ' });
  const expected = {
    ...{ timing: 'daily at 02:30', time_zone: 'Europe/Berlin', is_paused: false, set_by: null },
    ...{ in_effect: true, created_by: 'api' },
    next_times: [
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ],
  };
  expect(made).toMatchObject({ status: 201, body: expected });
  expect(woken).toBe(1);
  expect(await ask('GET')).toMatchObject({
    status: 200,
    body: { runs_start_here: true, set_by: null, schedules: [expected] },
  });
});

it('changes, pauses, continues and removes a schedule', async () => {
  const ask = open();
  const { body } = await ask('POST', '', { timing: '0 3 * * *', time_zone: 'Asia/Tokyo' });
  const path = `/${body.id}`;
  expect((await ask('PATCH', path, { is_paused: true })).body).toMatchObject({
    ...{ timing: '0 3 * * *', time_zone: 'Asia/Tokyo', is_paused: true, next_times: [] },
  });
  expect(
    (await ask('PATCH', path, { is_paused: false, timing: 'Sundays at 3 am' })).body,
  ).toMatchObject({
    timing: 'Sundays at 3 am',
    is_paused: false,
    next_times: [
      '2026-03-28T18:00:00.000Z',
      '2026-04-04T18:00:00.000Z',
      '2026-04-11T18:00:00.000Z',
    ],
  });
  expect((await ask('DELETE', path)).status).toBe(200);
  expect((await ask('DELETE', path)).status).toBe(404);
  expect((await ask('PATCH', path, {})).status).toBe(404);
  expect((await ask('GET')).body.schedules).toEqual([]);
});

it.each([
  [{ timing: 'tomorrow' }, /^timing must be an interval such as/],
  [{ timing: '0 0 30 2 *' }, /^timing must be a time that comes/],
  [{ timing: '61 * * * *' }, /^timing is no valid cron/],
  [{ timing: '6h', time_zone: 'Mars/Base' }, /^time_zone must be a time zone/],
])('rejects %j at its field', async (body, message) => {
  const ask = open();
  const answer = await ask('POST', '', body);
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
  const preview = await ask('GET', `/preview?${new URLSearchParams(body)}`);
  expect(preview).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
});

it('takes some of the sources, if they exist', async () => {
  await sql(
    database.db,
    "INSERT INTO sources (kind, address, key) VALUES ('address', 'https://a/b', 'a/b')",
  );
  const [source] = await database.db.query<{ id: string }>({
    text: 'SELECT id::text FROM sources',
  });
  const sources = [Number(source?.id)];
  const ask = open();
  expect(await ask('POST', '', { timing: '6h', sources })).toMatchObject({
    status: 201,
    body: { sources },
  });
  for (const [wrong, message] of [
    [[999_999], /^sources must be ids of sources, and there is no source 999999/],
    [[], /^sources must name at least one/],
  ] as const) {
    const answer = await ask('POST', '', { timing: '6h', sources: wrong });
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
  }
});

it('shows the next times of a timing without storing it', async () => {
  const ask = open();
  const query = new URLSearchParams({ timing: 'every 6 hours' });
  expect((await ask('GET', `/preview?${query}`)).body).toEqual({
    time_zone: 'Europe/Berlin',
    interval_ms: 21_600_000,
    next_times: [
      '2026-03-28T12:00:00.000Z',
      '2026-03-28T18:00:00.000Z',
      '2026-03-29T00:00:00.000Z',
    ],
  });
  expect((await ask('GET')).body.schedules).toEqual([]);
});

describe('with BACKUP_EVERY', () => {
  it('shows what the variable sets, and lets nobody change it', async () => {
    const before = open();
    const { body } = await before('POST', '', { timing: '6h' });
    await sql(
      database.db,
      `INSERT INTO schedules (timing, time_zone, interval_ms, variable_of) VALUES ('12h', 'UTC', 43200000, 'here')`,
    );
    const ask = open({ BACKUP_EVERY: '12h' });
    expect((await ask('GET')).body).toMatchObject({
      set_by: 'BACKUP_EVERY',
      schedules: [
        { timing: '6h', in_effect: false, set_by: null, next_times: [] },
        { timing: '12h', in_effect: true, set_by: 'BACKUP_EVERY' },
      ],
    });
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', `/${body.id}`],
      ['DELETE', `/${body.id}`],
    ] as const) {
      expect(await ask(method, path, { timing: '1h' })).toMatchObject({
        status: 409,
        body: { error: expect.stringMatching(/^BACKUP_EVERY sets when runs start/) },
      });
    }
  });

  it('removes what a machine that is gone has left', async () => {
    await sql(
      database.db,
      `INSERT INTO schedules (id, timing, time_zone, interval_ms, variable_of) VALUES (77, '12h', 'UTC', 43200000, 'gone')`,
    );
    const ask = open();
    expect((await ask('PATCH', '/77', { is_paused: true })).status).toBe(409);
    expect((await ask('DELETE', '/77')).status).toBe(200);
  });
});

describe('the overview', () => {
  const overview = async () => {
    const deps = createTestDeps({ db: database.db, clock: createTestClock(Date.parse(start)) });
    const answer = await createBackupsApp(deps).request('/api/overview', { headers: withSecret });
    return answer.json();
  };

  it('knows the next run of the schedules, whatever ran before', async () => {
    await insertRun(database.db, { status: 'completed', started_at: '2026-03-28T10:00Z' });
    await open()('POST', '', { timing: 'daily at 02:30' });
    expect(await overview()).toMatchObject({
      next_run_expected_at: '2026-03-29T01:00:00.000000Z',
      ...{ is_scheduled: true, runs_start_here: false },
      ...{ usual_interval_ms: 86_400_000, is_interval_declared: true },
    });
  });

  it('expects no run while all schedules are paused', async () => {
    await insertRun(database.db, {
      ...{ status: 'completed', started_at: '2026-03-01T10:00Z', schedule_ms: 86_400_000 },
    });
    const ask = open();
    const { body } = await ask('POST', '', { timing: 'daily at 02:30' });
    await ask('PATCH', `/${body.id}`, { is_paused: true });
    expect(await overview()).toMatchObject({ next_run_expected_at: null, is_scheduled: false });
  });
});
