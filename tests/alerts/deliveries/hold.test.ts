import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acknowledgeIncident } from '../../../lib/alerts/incidents/list.ts';
import { raiseAlerts } from '../../../lib/alerts/raise-alerts.ts';
import {
  addMaintenanceWindow,
  type NewMaintenanceWindow,
  removeMaintenanceWindow,
} from '../../../lib/alerts/telling/maintenance.ts';
import { addMute, endMute, type NewMute } from '../../../lib/alerts/telling/mutes.ts';
import {
  type QuietHours,
  readQuietHours,
  removeQuietHours,
  setQuietHours,
} from '../../../lib/alerts/telling/quiet-hours.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { useDatabase } from '../../support/hooks.ts';
import {
  type AlertReceiver,
  alertDeps,
  DAY_MS,
  HOUR_MS,
  raiseAfter,
  startAlertReceiver,
} from '../../support/incidents.ts';
import { empty, insertResult, insertRun, sql } from '../../support/records.ts';

const MINUTE_MS = 60_000;
const RUN = 'The last backup run failed';

const database = useDatabase();
let receiver: AlertReceiver;
let clock: TestClock;
beforeEach(async () => {
  // A Wednesday, 22:30 in Berlin.
  clock = createTestClock(Date.parse('2026-03-04T21:30:00Z'));
  receiver = await startAlertReceiver();
  await empty(database.db);
});
afterEach(() => receiver.close());

const by = () => ({ by: 'ada', now: clock.now() });
const run = (status: string) =>
  insertRun(database.db, { status, started_at: new Date(clock.now()).toISOString() });
const open = (...channels: string[]) =>
  alertDeps(database.db, channels.length === 0 ? [receiver.address()] : channels, { clock });
const at = (time: string) => clock.advance(Date.parse(time) - clock.now());

/** The incident of a login that the git host refused for these repositories. */
async function refuse(...names: string[]): Promise<void> {
  const id = await run('completed');
  for (const name of names) {
    await insertResult(database.db, id, name, { status: 'failed', fault: 'login' });
  }
}

const messages = () =>
  receiver.received.map(({ body }) => JSON.parse(body) as { title: string; message: string });

interface Delivery {
  kind: string;
  held_by: string | null;
  is_delivered: boolean;
  is_closed: boolean;
}
const deliveries = () =>
  sql<Delivery>(
    database.db,
    `SELECT kind, held_by, delivered_at IS NOT NULL AS is_delivered, given_up_at IS NOT NULL AS is_closed
     FROM alert_deliveries ORDER BY id`,
  );

describe('quiet hours', () => {
  const hours: QuietHours = {
    ...{ from: '22:00', to: '07:00', time_zone: 'Europe/Berlin', days: [1, 2, 3, 4, 5, 6, 7] },
    critical_passes: false,
  };
  const set = (changes: Partial<QuietHours> = {}) =>
    setQuietHours(database.db, { ...hours, ...changes }, by());

  it('hold all messages, and tell them in one summary when they end', async () => {
    await set();
    const deps = await open();
    await run('failed');
    expect(await raiseAlerts(deps)).toMatchObject({ opened: 1, delivered: 0, waiting: 0 });
    await run('completed');
    await raiseAfter(deps, HOUR_MS);
    await refuse('o/a', 'o/b');
    await raiseAfter(deps, HOUR_MS);
    at('2026-03-05T05:59:59Z');
    await raiseAlerts(deps);
    expect(messages()).toEqual([]);
    await raiseAfter(deps, 1_000);
    expect(receiver.titles()).toEqual(['After quiet hours: 2 incidents, 1 still open']);
    const lines = messages()[0]?.message.split('\n') ?? [];
    expect(lines[0]).toContain('2 repositories');
    expect(lines[0]).toContain('(since 2026-03-04 23:30 UTC)');
    expect(lines[1]).toMatch(/^What to do: /);
    expect(lines[2]).toBe(
      `Resolved: ${RUN}: Run 1 failed: no reason was recorded (2026-03-04 21:30 UTC to 2026-03-04 22:30 UTC)`,
    );
    expect(await deliveries()).toEqual(
      ['opened', 'resolved', 'opened'].map((kind) => ({
        ...{ kind, held_by: 'quiet_hours', is_delivered: true, is_closed: false },
      })),
    );
    for (let n = 0; n < 3; n++) await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toHaveLength(1);
  });

  it('tell a single incident in full when they end', async () => {
    await set();
    const deps = await open();
    await refuse('o/a', 'o/b');
    await raiseAlerts(deps);
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(deps);
    const [summary, ...others] = messages();
    expect(others).toEqual([]);
    expect(summary?.title).toMatch(/^After quiet hours: /);
    for (const text of ['o/a', 'o/b', 'What to do: ', 'Open since 2026-03-04 21:30 UTC']) {
      expect(summary?.message).toContain(text);
    }
  });

  it('do not change when incidents open and close', async () => {
    await set();
    const deps = await open();
    await run('failed');
    expect(await raiseAlerts(deps)).toMatchObject({ opened: 1 });
    await run('completed');
    expect(await raiseAfter(deps, HOUR_MS)).toMatchObject({ resolved: 1 });
  });

  it('let critical incidents pass if that was chosen, from their beginning to their end', async () => {
    await set({ critical_passes: true });
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await run('completed');
    await sql(
      database.db,
      `INSERT INTO anomalies (repo_full_name, run_id, version, kind, seen_at) VALUES ('o/a', 1, 2, 'shrunk', $1)`,
      [new Date(clock.now()).toISOString()],
    );
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()).toEqual([RUN, `Resolved: ${RUN}`]);
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(deps);
    expect(receiver.titles().slice(2)).toEqual([expect.stringMatching(/^After quiet hours: /)]);
  });

  it('send nothing when nothing was held', async () => {
    await set();
    const deps = await open();
    for (let n = 0; n < 4; n++) await raiseAfter(deps, 4 * HOUR_MS);
    expect(receiver.received).toEqual([]);
  });

  it('end by the clock of their time zone, also when it changes', async () => {
    await set();
    const until = async () =>
      (JSON.parse(await readQuietHours(database.db, clock.now())) as { quiet_until: string | null })
        .quiet_until;
    expect(await until()).toBe('2026-03-05T06:00:00.000000Z');
    at('2026-03-28T20:59:59Z');
    expect(await until()).toBeNull();
    // The night in which summer time begins, an hour shorter.
    clock.advance(1_000);
    expect(await until()).toBe('2026-03-29T05:00:00.000000Z');
    at('2026-03-29T05:00:00Z');
    expect(await until()).toBeNull();
    // The night in which it ends.
    at('2026-10-24T20:00:00Z');
    expect(await until()).toBe('2026-10-25T06:00:00.000000Z');
    at('2026-10-25T05:59:59Z');
    expect(await until()).toBe('2026-10-25T06:00:00.000000Z');
  });

  it('begin only on their days, and last into the next one', async () => {
    await set({ days: [3] });
    const deps = await open();
    at('2026-03-05T02:00:00Z');
    await run('failed');
    await raiseAlerts(deps);
    expect(receiver.received).toEqual([]);
    at('2026-03-05T21:30:00Z');
    await raiseAlerts(deps);
    expect(receiver.received).toHaveLength(1);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()[1]).toBe(`Resolved: ${RUN}`);
  });

  it('may lie within a day', async () => {
    await set({ from: '12:00', to: '13:00', time_zone: 'America/New_York' });
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    expect(receiver.titles()).toEqual([RUN]);
    at('2026-03-05T17:59:00Z');
    await run('completed');
    await raiseAlerts(deps);
    expect(receiver.received).toHaveLength(1);
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.received).toHaveLength(2);
  });

  it('hold a message that could not be sent before them', async () => {
    at('2026-03-04T20:50:00Z');
    await set();
    receiver.answers.push({ status: 429 });
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toHaveLength(1);
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(deps);
    expect(receiver.titles()).toEqual([RUN, `After quiet hours: ${RUN}`]);
  });

  it.each([
    ['removed', () => removeQuietHours(database.db)],
    ['changed', () => set({ from: '23:00', to: '23:30', days: [7] })],
  ])('tell what they held once they are %s', async (_how, change) => {
    await set();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await change();
    await raiseAfter(deps, MINUTE_MS);
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()).toEqual([`After quiet hours: ${RUN}`]);
  });

  it('keep holding what they held when they are made longer, for more than a day', async () => {
    await set();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await set({ from: '07:01', to: '07:00' });
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 9 * HOUR_MS + 30 * MINUTE_MS);
    await set({ from: '00:00', to: '00:01' });
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles().at(-1)).toBe(`After quiet hours: ${RUN}`);
  });

  it('are followed by one summary although several processes send', async () => {
    await set();
    const deps = await Promise.all([open(), open(), open(), open()]);
    await run('failed');
    await refuse('o/a');
    await Promise.all(deps.map(raiseAlerts));
    at('2026-03-05T06:00:00Z');
    await Promise.all(deps.map(raiseAlerts));
    await Promise.all(deps.map(raiseAlerts));
    expect(receiver.titles()).toHaveLength(1);
  });

  it('are followed by a summary through each channel, which is retried like any message', async () => {
    const other = await startAlertReceiver();
    try {
      await set();
      const deps = await open(receiver.address(), other.address('other'));
      await run('failed');
      await raiseAlerts(deps);
      receiver.answers.push({ status: 429 });
      at('2026-03-05T06:00:00Z');
      expect(await raiseAlerts(deps)).toMatchObject({ delivered: 1, waiting: 1 });
      await run('completed');
      await raiseAfter(deps, 1);
      // What happened after it waits, so that messages arrive in order.
      expect(receiver.received).toHaveLength(1);
      await raiseAfter(deps, HOUR_MS);
      expect(other.titles()).toEqual([`After quiet hours: ${RUN}`, `Resolved: ${RUN}`]);
      expect(receiver.titles()).toEqual([
        `After quiet hours: ${RUN}`,
        `After quiet hours: Resolved: ${RUN}`,
        `Resolved: ${RUN}`,
      ]);
    } finally {
      await other.close();
    }
  });

  it('are followed by a summary that says why it did not arrive, if it did not', async () => {
    await set();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    receiver.answers.push({ status: 403 });
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(deps);
    const rows = await sql(
      database.db,
      'SELECT attempts, given_up_at IS NOT NULL AS is_given_up, last_error FROM alert_deliveries',
    );
    expect(rows).toEqual([{ attempts: 1, is_given_up: true, last_error: 'ntfy answered 403' }]);
  });

  it('reject a time zone that the database does not know', async () => {
    expect(await set({ time_zone: 'Mars/Olympus' })).toBe(false);
    expect(await set({ time_zone: 'europe/berlin' })).toBe(true);
  });
});

describe('a mute', () => {
  const mute = async (given: NewMute) => {
    const { outcome, item } = await addMute(database.db, given, by());
    expect(outcome).toBe('known');
    return (JSON.parse(item ?? '') as { id: number }).id;
  };
  const UNTIL = '2026-03-06T22:00:00Z';

  it('of everything holds all messages until its time, and ends by itself', async () => {
    await mute({ scope: 'all', until: UNTIL });
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await raiseAfter(deps, DAY_MS);
    expect(receiver.received).toEqual([]);
    at('2026-03-06T21:59:59Z');
    await raiseAlerts(deps);
    expect(receiver.received).toEqual([]);
    await raiseAfter(deps, 1_000);
    expect(receiver.titles()).toEqual([`After a mute: ${RUN}`]);
  });

  it('of an incident holds its messages only', async () => {
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await mute({ scope: 'incident', incident_id: 1, until: UNTIL });
    await refuse('o/a');
    await raiseAfter(deps, DAY_MS);
    const [, login = ''] = receiver.titles();
    expect(receiver.titles()).toEqual([RUN, login]);
    await raiseAfter(deps, DAY_MS);
    expect(receiver.titles()).toEqual([RUN, login, `Still: ${login}`]);
    at(UNTIL);
    await raiseAlerts(deps);
    expect(receiver.titles().slice(3)).toEqual([`After a mute: Resolved: ${RUN}`]);
  });

  it('of an incident tells of it when it ends early', async () => {
    await run('failed');
    const deps = await open();
    await raiseAlerts(deps);
    const id = await mute({ scope: 'incident', incident_id: 1, until: UNTIL });
    await raiseAfter(deps, DAY_MS);
    expect(receiver.titles()).toEqual([RUN]);
    await endMute(database.db, id, by());
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()).toEqual([RUN, `After a mute: ${RUN}`]);
  });

  it('of a repository holds incidents that concern no other one', async () => {
    await insertResult(database.db, await run('completed'), 'o/a');
    await insertResult(database.db, await run('completed'), 'o/b');
    await mute({ scope: 'repository', repository: 'O/A', until: UNTIL });
    const deps = await open();
    await refuse('o/a');
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.received).toEqual([]);
    await refuse('o/a', 'o/b');
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()).toHaveLength(1);
    expect(messages()[0]?.message).toContain('o/b');
  });

  it('of a repository holds the reminder that only says that it joined', async () => {
    await refuse('o/a');
    await insertResult(database.db, await run('completed'), 'o/b');
    await mute({ scope: 'repository', repository: 'o/b', until: '2026-03-20T12:00:00Z' });
    const deps = await open();
    await raiseAfter(deps, MINUTE_MS);
    await acknowledgeIncident(database.db, 1, by());
    await refuse('o/a', 'o/b');
    for (let n = 0; n < 3; n++) await raiseAfter(deps, DAY_MS);
    expect(receiver.titles()).toHaveLength(1);
    await refuse('o/a', 'o/b', 'o/c');
    for (let n = 0; n < 3; n++) await raiseAfter(deps, DAY_MS);
    expect(receiver.titles()).toHaveLength(2);
  });

  it('is refused for what is unknown or over', async () => {
    const add = async (given: NewMute) => (await addMute(database.db, given, by())).outcome;
    await run('failed');
    const deps = await open();
    await raiseAlerts(deps);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    expect(await add({ scope: 'incident', incident_id: 1, until: UNTIL })).toBe('resolved');
    expect(await add({ scope: 'incident', incident_id: 7, until: UNTIL })).toBe('unknown');
    expect(await add({ scope: 'repository', repository: 'o/none', until: UNTIL })).toBe('unknown');
  });
});

describe('a maintenance window', () => {
  const window: NewMaintenanceWindow = {
    ...{ note: 'new disks', starts_at: '2026-03-04T21:00:00Z', ends_at: '2026-03-05T01:00:00Z' },
    ...{ repeats: null, time_zone: 'Europe/Berlin' },
  };
  const add = async (changes: Partial<NewMaintenanceWindow> = {}) => {
    const { outcome, item } = await addMaintenanceWindow(
      database.db,
      { ...window, ...changes },
      by(),
    );
    expect(outcome).toBe('added');
    return JSON.parse(item ?? '') as { id: number; starts_at: string; ends_at: string };
  };

  it('keeps what begins and ends in it from ever being told', async () => {
    await add();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await run('completed');
    await raiseAfter(deps, HOUR_MS);
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 2 * HOUR_MS);
    expect(receiver.received).toEqual([]);
    expect(await deliveries()).toEqual(
      ['opened', 'resolved'].map((kind) => ({
        ...{ kind, held_by: 'maintenance', is_delivered: false, is_closed: true },
      })),
    );
  });

  it('is followed by what outlasts it', async () => {
    await add();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    at('2026-03-05T00:59:59Z');
    await raiseAlerts(deps);
    expect(receiver.received).toEqual([]);
    await raiseAfter(deps, 1_000);
    expect(receiver.titles()).toEqual([`After maintenance: ${RUN}`]);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()[1]).toBe(`Resolved: ${RUN}`);
  });

  it('holds nothing of what began before it', async () => {
    await add({ starts_at: '2026-03-04T21:40:00Z' });
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await run('completed');
    await raiseAfter(deps, HOUR_MS);
    expect(receiver.titles()).toEqual([RUN, `Resolved: ${RUN}`]);
  });

  it('counts when an incident began, also if the first process that sends comes after it', async () => {
    await add();
    const nobody = await alertDeps(database.db, [], { clock });
    await run('failed');
    await raiseAlerts(nobody);
    await run('completed');
    await raiseAfter(nobody, HOUR_MS);
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(await open());
    expect(receiver.received).toEqual([]);
  });

  it('tells what it held once it is removed', async () => {
    const { id } = await add();
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await removeMaintenanceWindow(database.db, id, by());
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.titles()).toEqual([`After maintenance: ${RUN}`]);
  });

  it('repeats at its time of day, also after the clocks changed', async () => {
    await add({ repeats: 'daily' });
    const deps = await open();
    // 22:30 in summer time.
    at('2026-04-10T20:30:00Z');
    await run('failed');
    await raiseAlerts(deps);
    await run('completed');
    at('2026-04-10T23:59:00Z');
    await raiseAlerts(deps);
    expect(receiver.received).toEqual([]);
    at('2026-04-11T00:30:00Z');
    await run('failed');
    await raiseAlerts(deps);
    expect(receiver.titles()).toEqual([RUN]);
  });

  it('repeats on its day of the week', async () => {
    await add({ repeats: 'weekly' });
    const deps = await open();
    at('2026-03-05T22:00:00Z');
    await run('failed');
    await raiseAlerts(deps);
    expect(receiver.titles()).toEqual([RUN]);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    at('2026-03-11T22:00:00Z');
    await run('failed');
    await raiseAlerts(deps);
    expect(receiver.titles()).toHaveLength(2);
  });

  it('ends in quiet hours, after which a summary tells what outlasted both', async () => {
    await add();
    await setQuietHours(
      database.db,
      {
        ...{ from: '22:00', to: '07:00', time_zone: 'Europe/Berlin', days: [1, 2, 3, 4, 5, 6, 7] },
        critical_passes: false,
      },
      by(),
    );
    const deps = await open();
    await run('failed');
    for (let n = 0; n < 8; n++) await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toEqual([]);
    at('2026-03-05T06:00:00Z');
    await raiseAlerts(deps);
    expect(receiver.titles()).toEqual([`After quiet hours: ${RUN}`]);
  });
});
