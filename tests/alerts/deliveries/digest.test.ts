import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { raiseAlerts } from '../../../lib/alerts/raise-alerts.ts';
import { type Digest, removeDigest, setDigest } from '../../../lib/alerts/telling/digest.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { emptyLedger } from '../../support/drills.ts';
import { useDatabase } from '../../support/hooks.ts';
import {
  type AlertReceiver,
  alertDeps,
  HOUR_MS,
  raiseAfter,
  startAlertReceiver,
} from '../../support/incidents.ts';
import { empty, insert, insertResult, insertRun } from '../../support/records.ts';

const database = useDatabase();
let receiver: AlertReceiver;
let clock: TestClock;
beforeEach(async () => {
  // A Wednesday, 7:30 in Berlin.
  clock = createTestClock(Date.parse('2026-03-04T06:30:00Z'));
  receiver = await startAlertReceiver();
  await empty(database.db);
  await emptyLedger(database.db);
});
afterEach(() => receiver.close());

const at = (time: string) => clock.advance(Date.parse(time) - clock.now());
const open = (environment = {}, ...channels: string[]) =>
  alertDeps(database.db, channels.length === 0 ? [receiver.address()] : channels, {
    ...{ clock, environment },
  });
const daily: Digest = {
  ...{ every: 'daily', weekday: 1, at: '08:00', time_zone: 'Europe/Berlin' },
  ...{ channels: null, mail: false },
};
const set = (changes: Partial<Digest> = {}) =>
  setDigest(database.db, { ...daily, ...changes }, { by: 'ada', now: clock.now() });
const messages = () =>
  receiver.received.map(({ body }) => JSON.parse(body) as { title: string; message: string });

async function backUp(name: string, status = 'completed'): Promise<void> {
  const created_at = new Date(clock.now() - HOUR_MS).toISOString();
  const run = await insertRun(database.db, { status: 'completed', started_at: created_at });
  await insertResult(database.db, run, name, { status, created_at, archive_size_bytes: 7 });
}
const prove = (repository_name: string, daysAgo: number) =>
  insert(database.db, 'restore_drills', {
    ...{ repository_name, outcome: 'proven', storage: 'folder', duration_ms: 5, bytes: 1 },
    ...{ started_at: new Date(clock.now() - daysAgo * 24 * HOUR_MS).toISOString() },
    evidence: '{}',
  });

describe('a digest', () => {
  it('says in one sentence that all is good, and what was proven longest ago', async () => {
    for (const [index, name] of ['acme/app', 'acme/lib', 'acme/new'].entries()) {
      await backUp(name);
      await prove(name, 12 - index);
    }
    await set();
    at('2026-03-04T07:00:00Z');
    await raiseAlerts(await open());
    expect(messages()).toMatchObject([{ title: 'Digest: All 3 good' }]);
    expect(messages()[0]?.message.split('\n')).toEqual([
      'All 3 good, 2 proven longest ago: acme/app 12 days ago, acme/lib 11 days ago.',
      'Nothing needs you.',
    ]);
  });

  it('says what needs somebody', async () => {
    await backUp('acme/app');
    await backUp('acme/bad', 'failed');
    const started_at = new Date(clock.now()).toISOString();
    await insertRun(database.db, { status: 'failed', started_at });
    const deps = await open();
    await raiseAlerts(deps);
    await set();
    at('2026-03-04T07:00:00Z');
    await raiseAlerts(deps);
    const digest = messages().at(-1);
    expect(digest?.title).toBe('Digest: 1 of 2 good: 1 never backed up, 1 incident open');
    const lines = digest?.message.split('\n') ?? [];
    expect(lines[0]).toBe('1 of 2 good: 1 never backed up, none proven yet.');
    expect(lines).toContain('acme/bad: never backed up');
    expect(lines).toContain('2 repositories were never proven by a restore drill');
    expect(lines.some((line) => line.startsWith('What to do: '))).toBe(true);
  });

  it('says that nothing is backed up yet', async () => {
    await set();
    at('2026-03-04T07:00:00Z');
    await raiseAlerts(await open());
    expect(messages()).toMatchObject([{ title: 'Digest: Nothing is backed up yet' }]);
  });

  it('is sent once a day, by several processes too, and not before its time', async () => {
    await set();
    const deps = await Promise.all([open(), open(), open()]);
    const all = () => Promise.all(deps.map(raiseAlerts));
    await all();
    at('2026-03-04T06:59:59Z');
    await all();
    expect(receiver.received).toEqual([]);
    clock.advance(1_000);
    await all();
    await all();
    expect(receiver.received).toHaveLength(1);
    at('2026-03-05T06:59:59Z');
    await all();
    expect(receiver.received).toHaveLength(1);
    clock.advance(1_000);
    await all();
    expect(receiver.received).toHaveLength(2);
    // In summer time.
    at('2026-04-01T05:59:00Z');
    await all();
    expect(receiver.received).toHaveLength(3);
    clock.advance(60_000);
    await all();
    expect(receiver.received).toHaveLength(4);
  });

  it('is sent on its day of the week', async () => {
    await set({ every: 'weekly', weekday: 4 });
    const deps = await open();
    at('2026-03-04T08:00:00Z');
    await raiseAlerts(deps);
    expect(receiver.received).toEqual([]);
    at('2026-03-05T07:00:00Z');
    await raiseAlerts(deps);
    for (let n = 0; n < 6; n++) await raiseAfter(deps, 24 * HOUR_MS);
    expect(receiver.received).toHaveLength(1);
    await raiseAfter(deps, 24 * HOUR_MS);
    expect(receiver.received).toHaveLength(2);
  });

  it('is not sent for a time before it was set, nor once it was removed', async () => {
    at('2026-03-04T07:30:00Z');
    await set();
    const deps = await open();
    await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toEqual([]);
    await removeDigest(database.db);
    await raiseAfter(deps, 24 * HOUR_MS);
    expect(receiver.received).toEqual([]);
  });

  it('goes through the chosen channels only', async () => {
    const other = await startAlertReceiver();
    try {
      await set({ channels: ['other', 'gone'] });
      at('2026-03-04T07:00:00Z');
      await raiseAlerts(await open({}, receiver.address(), other.address('other')));
      expect(receiver.received).toEqual([]);
      expect(other.received).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  it('is mailed to each address in SMTP_TO, and alerts are not', async () => {
    await set({ channels: [], mail: true });
    await insertRun(database.db, {
      status: 'failed',
      started_at: new Date(clock.now()).toISOString(),
    });
    at('2026-03-04T07:00:00Z');
    const environment = {
      ...{ RESEND_API_KEY: 'key', RESEND_BASE_URL: receiver.url, SMTP_FROM: 'b@example.com' },
      SMTP_TO: 'ops@example.com, oncall@example.com',
    };
    await raiseAlerts({ ...(await open(environment)), channels: [] });
    const mails = receiver.received.map(
      ({ body }) => JSON.parse(body) as { to: string[]; subject: string },
    );
    expect(mails.map(({ to }) => to).sort()).toEqual([['oncall@example.com'], ['ops@example.com']]);
    expect(mails.every(({ subject }) => subject.startsWith('Digest: '))).toBe(true);
  });

  it('is sent again if the channel was down', async () => {
    receiver.answers.push({ status: 429 });
    await set();
    const deps = await open();
    at('2026-03-04T07:00:00Z');
    await raiseAlerts(deps);
    await raiseAfter(deps, HOUR_MS);
    await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toHaveLength(2);
  });

  it('refuses a time zone that the database does not know', async () => {
    expect(await set({ time_zone: 'Mars/Olympus' })).toBe(false);
  });
});
