import { beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert, insertResult, insertRun } from '../support/records.ts';

const database = useDatabase();
// A Wednesday, 23:30 in Berlin.
const NOW = Date.parse('2026-03-04T22:30:00Z');
beforeEach(() => empty(database.db));

function start() {
  const clock = createTestClock(NOW);
  return { clock, ...createClient({ db: database.db, clock }) };
}

interface Refusal {
  error: string;
  details?: { path: string; message: string }[];
}

describe('quiet hours', () => {
  const hours = { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' };
  const put = (value: unknown) => start().send('PUT', '/api/quiet-hours', undefined, value);

  it('are set, read with the end of those that are current, and removed', async () => {
    const { get, send, clock } = start();
    const none = { quiet_hours: null, quiet_until: null };
    expect((await get('/api/quiet-hours')).body).toEqual(none);
    const days = [7, 3, 3];
    const set = { ...hours, days, critical_passes: true };
    expect((await send('PUT', '/api/quiet-hours', undefined, set)).status).toBe(200);
    expect((await get('/api/quiet-hours')).body).toEqual({
      quiet_hours: {
        ...{ ...hours, days: [3, 7], critical_passes: true, updated_by: 'api' },
        updated_at: '2026-03-04T22:30:00.000000Z',
      },
      quiet_until: '2026-03-05T06:00:00.000000Z',
    });
    clock.advance(12 * 3_600_000);
    expect((await get('/api/quiet-hours')).body).toMatchObject({ quiet_until: null });
    expect((await send('DELETE', '/api/quiet-hours')).body).toEqual(none);
    expect((await send('DELETE', '/api/quiet-hours')).status).toBe(404);
  });

  it('are every day, also for critical incidents, unless they say otherwise', async () => {
    expect((await put(hours)).body).toMatchObject({
      quiet_hours: { days: [1, 2, 3, 4, 5, 6, 7], critical_passes: false },
    });
  });

  it.each([
    ['from', { from: '24:00' }],
    ['to', { to: '7:00' }],
    ['to', { to: '22:00' }],
    ['time_zone', { time_zone: 'Europe/Atlantis' }],
    ['time_zone', { time_zone: '+01:00' }],
    ['time_zone', { time_zone: 'UTC-5' }],
    ['days', { days: [] }],
    ['days.0', { days: [0] }],
    ['critical_passes', { critical_passes: 'yes' }],
  ])('are refused with an error at %s', async (path, wrong) => {
    const { status, body } = await put({ ...hours, ...wrong });
    expect(status).toBe(400);
    expect((body as Refusal).details).toMatchObject([{ path }]);
    expect((await start().get('/api/quiet-hours')).body).toMatchObject({ quiet_hours: null });
  });

  it('may last a whole day, but not always', async () => {
    expect((await put({ ...hours, to: '22:00', days: [6, 7] })).status).toBe(200);
  });
});

describe('mutes', () => {
  const until = '2026-03-05T22:30:00+01:00';

  it('are added, listed while they hold, and ended', async () => {
    await insertResult(database.db, await insertRun(database.db), 'Acme/App');
    const incident_id = await insert(database.db, 'incidents', { rule: 'run_failed' });
    const { clock, get, post, send } = start();
    for (const mute of [
      { scope: 'incident', incident_id, until },
      { scope: 'repository', repository: 'acme/app', until: '2026-03-05T10:00:00Z' },
      { scope: 'all', until },
    ]) {
      expect((await post('/api/mutes', mute)).status).toBe(201);
    }
    const common = { created_by: 'api', created_at: '2026-03-04T22:30:00.000000Z' };
    const all = {
      ...{ id: 3, scope: 'all', repository: null, incident_id: null },
      ...{ until: '2026-03-05T21:30:00.000000Z', ...common },
    };
    const repository = {
      ...{ id: 2, scope: 'repository', repository: 'Acme/App', incident_id: null },
      ...{ until: '2026-03-05T10:00:00.000000Z', ...common },
    };
    const incident = { ...all, id: 1, scope: 'incident', incident_id };
    const list = async () => ((await get('/api/mutes')).body as { data: unknown }).data;
    expect(await list()).toEqual([all, repository, incident]);
    expect((await send('DELETE', '/api/mutes/1')).body).toEqual(incident);
    expect((await send('DELETE', '/api/mutes/1')).status).toBe(404);
    clock.advance(12 * 3_600_000);
    expect(await list()).toEqual([all]);
    expect((await send('DELETE', '/api/mutes/2')).status).toBe(404);
  });

  it.each([
    ['until', { scope: 'all', until: '2026-03-04T22:30:00Z' }, 400],
    ['until', { scope: 'all', until: '2028-03-04T22:30:00Z' }, 400],
    ['until', { scope: 'all', until: '2026-03-05' }, 400],
    ['until', { scope: 'all' }, 400],
    ['scope', { scope: 'none', until }, 400],
    ['repository', { scope: 'repository', repository: '', until }, 400],
    ['repository', { scope: 'repository', repository: 'acme/none', until }, 404],
    ['incident_id', { scope: 'incident', incident_id: 9, until }, 404],
  ])('are refused with an error at %s: %j', async (path, mute, expected) => {
    const { status, body } = await start().post('/api/mutes', mute);
    expect(status).toBe(expected);
    expect((body as Refusal).details).toMatchObject([{ path }]);
  });

  it('are refused for a resolved incident', async () => {
    const row = { rule: 'run_failed', resolved_at: '2026-03-01T00:00:00Z' };
    const incident_id = await insert(database.db, 'incidents', row);
    const { status } = await start().post('/api/mutes', { scope: 'incident', incident_id, until });
    expect(status).toBe(409);
  });
});

describe('maintenance windows', () => {
  const window = {
    note: 'new disks',
    starts_at: '2026-03-04T23:00:00+01:00',
    ends_at: '2026-03-05T02:00:00+01:00',
  };
  const list = async (client: ReturnType<typeof start>) =>
    ((await client.get('/api/maintenance')).body as { data: Record<string, unknown>[] }).data;

  it('are added, listed until they are over, and removed', async () => {
    const client = start();
    const { clock, post, send } = client;
    const added = {
      ...{ id: 1, note: 'new disks', repeats: null, time_zone: 'UTC', is_current: true },
      ...{ starts_at: '2026-03-04T22:00:00.000000Z', ends_at: '2026-03-05T01:00:00.000000Z' },
      ...{ created_by: 'api', created_at: '2026-03-04T22:30:00.000000Z' },
    };
    expect((await post('/api/maintenance', window)).body).toEqual(added);
    const weekly = { ...window, repeats: 'weekly', time_zone: 'Europe/Berlin' };
    await post('/api/maintenance', weekly);
    expect(await list(client)).toMatchObject([added, { id: 2, is_current: true }]);
    clock.advance(3 * 3_600_000);
    expect(await list(client)).toMatchObject([
      { id: 2, is_current: false, starts_at: '2026-03-11T22:00:00.000000Z' },
    ]);
    // In summer time.
    clock.advance(30 * 86_400_000);
    expect(await list(client)).toMatchObject([
      { starts_at: '2026-04-08T21:00:00.000000Z', ends_at: '2026-04-09T00:00:00.000000Z' },
    ]);
    expect((await send('DELETE', '/api/maintenance/2')).body).toEqual({ id: 2, note: 'new disks' });
    expect((await send('DELETE', '/api/maintenance/2')).status).toBe(404);
    expect(await list(client)).toEqual([]);
  });

  it.each([
    ['note', { note: '  ' }],
    ['note', { note: 'x'.repeat(501) }],
    ['starts_at', { starts_at: 'soon' }],
    ['ends_at', { ends_at: window.starts_at }],
    ['ends_at', { starts_at: '2026-03-04T20:00:00Z', ends_at: '2026-03-04T22:30:00Z' }],
    ['ends_at', { ends_at: '2026-03-05T22:00:00Z', repeats: 'daily' }],
    ['ends_at', { ends_at: '2026-03-12T22:00:00Z', repeats: 'weekly' }],
    ['ends_at', { ends_at: '2026-05-05T22:00:00Z' }],
    ['repeats', { repeats: 'hourly' }],
    ['time_zone', { time_zone: 'Nowhere' }],
  ])('are refused with an error at %s: %j', async (path, wrong) => {
    const { status, body } = await start().post('/api/maintenance', { ...window, ...wrong });
    expect(status).toBe(400);
    expect((body as Refusal).details).toMatchObject([{ path }]);
  });
});

describe('the digest', () => {
  const daily = { every: 'daily', at: '08:00', time_zone: 'Europe/Berlin' };
  const put = (value: unknown) => start().send('PUT', '/api/digest', undefined, value);

  it('is set, read with its next time, and ended', async () => {
    const { get, send } = start();
    const none = { digest: null, next_at: null, last_sent_at: null };
    expect((await get('/api/digest')).body).toEqual(none);
    const weekly = { ...daily, every: 'weekly', weekday: 7, channels: ['phone'], mail: true };
    await send('PUT', '/api/digest', undefined, weekly);
    expect((await get('/api/digest')).body).toEqual({
      digest: { ...weekly, updated_by: 'api', updated_at: '2026-03-04T22:30:00.000000Z' },
      ...{ next_at: '2026-03-08T07:00:00.000000Z', last_sent_at: null },
    });
    expect((await put(daily)).body).toMatchObject({
      digest: { channels: null, mail: false, weekday: 1 },
      next_at: '2026-03-05T07:00:00.000000Z',
    });
    expect((await send('DELETE', '/api/digest')).body).toEqual(none);
    expect((await send('DELETE', '/api/digest')).status).toBe(404);
  });

  it.each([
    ['every', { every: 'hourly' }],
    ['weekday', { weekday: 0 }],
    ['at', { at: '8' }],
    ['time_zone', { time_zone: 'Nowhere' }],
    ['channels', { channels: [] }],
  ])('is refused with an error at %s', async (path, wrong) => {
    const { status, body } = await put({ ...daily, ...wrong });
    expect(status).toBe(400);
    expect((body as Refusal).details).toMatchObject([{ path }]);
  });
});
