import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAlertChannels } from '../../../lib/alerts/channels/open-channels.ts';
import { storeChannel } from '../../../lib/alerts/channels/stored-channels.ts';
import { raiseAlerts } from '../../../lib/alerts/raise-alerts.ts';
import { alertSendingVariables } from '../../../lib/config/alert-channels.ts';
import { readConfig } from '../../../lib/config/read.ts';
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
const TITLE = 'The last backup run failed';

const database = useDatabase();
let receiver: AlertReceiver;
let clock: TestClock;
beforeEach(async () => {
  clock = createTestClock();
  receiver = await startAlertReceiver();
  await empty(database.db);
});
afterEach(() => receiver.close());

const run = (status: string) =>
  insertRun(database.db, { status, started_at: new Date(clock.now()).toISOString() });

const open = (...channels: string[]) =>
  alertDeps(database.db, channels.length === 0 ? [receiver.address()] : channels, { clock });

const deliveries = () =>
  sql<{
    channel: string;
    kind: string;
    attempts: number;
    is_delivered: boolean;
    is_given_up: boolean;
    last_error: string | null;
  }>(
    database.db,
    `SELECT channel, kind, attempts, delivered_at IS NOT NULL AS is_delivered,
       given_up_at IS NOT NULL AS is_given_up, last_error FROM alert_deliveries ORDER BY id`,
  );

describe('a channel', () => {
  it('is notified once when an incident opens, daily while it lasts, and once when it is over', async () => {
    const deps = await open();
    await run('failed');
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 10 * MINUTE_MS);
    expect(receiver.titles()).toEqual([TITLE]);
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 8 * HOUR_MS);
    await raiseAfter(deps, 10 * MINUTE_MS);
    expect(receiver.titles()).toEqual([TITLE, `Still: ${TITLE}`]);
    await run('completed');
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 10 * MINUTE_MS);
    expect(receiver.titles()).toEqual([TITLE, `Still: ${TITLE}`, `Resolved: ${TITLE}`]);
  });

  it('gets one message about a thousand repositories', async () => {
    const deps = await open();
    const id = await run('completed');
    for (let n = 0; n < 1_000; n++) {
      const row = { status: 'failed', fault: 'login', error_message: 'HTTP 401' };
      await insertResult(database.db, id, `o/r${n}`, row);
    }
    expect(await raiseAlerts(deps)).toEqual({ opened: 1, resolved: 0, delivered: 1, waiting: 0 });
    const [{ message } = { message: '' }] = receiver.received.map(
      ({ body }) => JSON.parse(body) as { message: string },
    );
    expect(message).toContain('1000 repositories');
    expect(message).toContain('o/r0: HTTP 401');
    expect(message).toContain('and 990 more');
  });

  it('is sent the advice until the incident is over', async () => {
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await raiseAfter(deps, DAY_MS);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    const texts = receiver.received.map(({ body }) => body.includes('What to do: Read the log'));
    expect(texts).toEqual([true, true, false]);
  });

  it('is told at the end what is good again, and what the incident was about', async () => {
    const deps = await open();
    await run('failed');
    await raiseAlerts(deps);
    await run('completed');
    await raiseAfter(deps, MINUTE_MS);
    const { message } = JSON.parse(receiver.received.at(-1)?.body ?? '') as { message: string };
    expect(message.split('\n')).toEqual([
      'The last run reached its end. If its login was refused instead, another message says so.',
      'It was: Run 1 failed: no reason was recorded',
      expect.stringMatching(/^Incident 1, since \d{4}-\d\d-\d\d \d\d:\d\d UTC$/),
    ]);
  });

  it.each([
    ['https://backups.example.com', '', 'https://backups.example.com/app/incidents'],
    ['https://example.com/backups/', '', 'https://example.com/backups/app/incidents'],
    ['https://example.com', '/backup', 'https://example.com/backup/app/incidents'],
    ['https://example.com/backup/', '/backup', 'https://example.com/backup/app/incidents'],
  ])(
    'gets a link to the page at PUBLIC_URL %s, BASE_PATH "%s"',
    async (PUBLIC_URL, BASE_PATH, click) => {
      await run('failed');
      const environment = { PUBLIC_URL, BASE_PATH };
      await raiseAlerts(await alertDeps(database.db, [receiver.address()], { clock, environment }));
      expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ title: TITLE, click });
    },
  );

  it('is told which repositories have joined since', async () => {
    const deps = await open();
    const failed = { status: 'failed', fault: 'login' };
    const id = await run('completed');
    await insertResult(database.db, id, 'o/a', failed);
    await raiseAlerts(deps);
    await insertResult(database.db, id, 'o/b', failed);
    await raiseAfter(deps, DAY_MS);
    const { message } = JSON.parse(receiver.received.at(-1)?.body ?? '') as { message: string };
    expect(message).toContain('1 joined since the last message.');
  });

  it('is notified of incidents opened in the last day when it is new, but not of earlier ones', async () => {
    const nobody = await alertDeps(database.db, [], { clock });
    await run('failed');
    await raiseAlerts(nobody);
    await run('completed');
    await raiseAfter(nobody, 2 * DAY_MS);
    await run('failed');
    await raiseAlerts(nobody);
    await raiseAlerts(await open());
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('is served by a process that can send, after one that lacks what it needs has tried', async () => {
    const [key, other] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
    const configOf = (CREDENTIALS_ENCRYPTION_KEY: string | undefined) =>
      readConfig(alertSendingVariables, { CREDENTIALS_ENCRYPTION_KEY });
    const { db } = database;
    const address = receiver.address().replace('phone=', '');
    await sql(db, 'DELETE FROM alert_channels');
    await storeChannel({ db, config: configOf(key) }, { name: 'phone', address, createdBy: 'ada' });
    const deps = await alertDeps(db, [], { clock });
    const raiseWith = async (itsKey: string | undefined) => {
      const channels = await openAlertChannels(configOf(itsKey), { db, fetch, clock });
      await raiseAlerts({ ...deps, channels });
    };
    await run('failed');
    await raiseWith(other);
    expect(await deliveries()).toMatchObject([
      { attempts: 1, is_given_up: false, last_error: expect.stringContaining('another CRED') },
    ]);
    clock.advance(10 * MINUTE_MS);
    await raiseWith(key);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('is served by only one of several processes', async () => {
    await run('failed');
    const deps = await Promise.all([open(), open(), open(), open()]);
    await Promise.all(deps.map(raiseAlerts));
    expect(receiver.titles()).toEqual([TITLE]);
  });
});

describe('a message', () => {
  beforeEach(() => run('failed'));

  it('is not sent again after a permanent refusal, and its error is kept', async () => {
    receiver.answers.push({ status: 403 });
    const deps = await open();
    for (let n = 0; n < 3; n++) await raiseAfter(deps, HOUR_MS);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(await deliveries()).toMatchObject([
      { is_delivered: false, is_given_up: true, last_error: 'ntfy answered 403' },
    ]);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ channel: 'phone', reason: 'ntfy answered 403' }),
    );
  });

  it('waits as long as the service asks after a 429, and arrives once', async () => {
    for (let n = 0; n < 4; n++)
      receiver.answers.push({ status: 429, headers: { 'Retry-After': '3600' } });
    const deps = await open();
    await raiseAlerts(deps);
    await raiseAfter(deps, HOUR_MS - 1);
    expect(receiver.received).toHaveLength(1);
    await raiseAfter(deps, 1);
    expect(receiver.received).toHaveLength(2);
    for (let n = 0; n < 5; n++) await raiseAfter(deps, HOUR_MS);
    expect(receiver.received).toHaveLength(5);
    expect(await deliveries()).toMatchObject([
      { is_delivered: true, attempts: 5, last_error: null },
    ]);
  });

  it('is sent once more after a 500, but not a third time', async () => {
    receiver.answers.push({ status: 500 }, { status: 500 });
    const deps = await open();
    for (let n = 0; n < 6; n++) await raiseAfter(deps, 15 * MINUTE_MS);
    expect(receiver.received).toHaveLength(2);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({ is_delivered: false, is_given_up: true });
    expect(delivery?.last_error).toBe(
      'it may have arrived twice, and is not sent again: ntfy answered 500',
    );
  });

  it('arrives with the second attempt after one 500', async () => {
    receiver.answers.push({ status: 500 });
    const deps = await open();
    for (let n = 0; n < 6; n++) await raiseAfter(deps, 15 * MINUTE_MS);
    expect(receiver.received).toHaveLength(2);
    expect(await deliveries()).toMatchObject([{ is_delivered: true, last_error: null }]);
  });

  it('keeps its id when it is retried', async () => {
    const { channels, ...deps } = await open();
    const ids: string[] = [];
    const watched = channels.map((channel) => ({
      ...channel,
      async send(...given: Parameters<typeof channel.send>) {
        ids.push(given[0].id);
        return channel.send(...given);
      },
    }));
    receiver.answers.push({ status: 429 });
    await raiseAlerts({ ...deps, channels: watched });
    await raiseAfter({ ...deps, channels: watched }, HOUR_MS);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('is retried for up to a day while the service is unreachable', async () => {
    const address = receiver.address();
    await receiver.close();
    const deps = await open(address);
    await raiseAlerts(deps);
    expect(await deliveries()).toMatchObject([
      { attempts: 1, is_given_up: false, last_error: expect.stringContaining('ECONNREFUSED') },
    ]);
    for (let n = 0; n < 20; n++) await raiseAfter(deps, HOUR_MS);
    const [late] = await deliveries();
    expect(late?.attempts).toBeGreaterThan(10);
    expect(late?.is_given_up).toBe(false);
    await raiseAfter(deps, 5 * HOUR_MS);
    expect((await deliveries())[0]).toMatchObject({ is_given_up: true });
    receiver = await startAlertReceiver();
  });

  it('holds back later messages while it cannot be sent, so that they arrive in order', async () => {
    receiver.answers.push({ status: 429, headers: { 'Retry-After': '3600' } });
    const deps = await open();
    await raiseAlerts(deps);
    await run('completed');
    await raiseAfter(deps, 10 * MINUTE_MS);
    expect(receiver.received).toHaveLength(1);
    await raiseAfter(deps, HOUR_MS);
    expect(receiver.titles().slice(1)).toEqual([TITLE, `Resolved: ${TITLE}`]);
  });
});

describe('a channel that hangs', () => {
  it('delays no other channel, and is abandoned after 10 seconds', async () => {
    const hanging = await startAlertReceiver();
    try {
      hanging.answers.push(
        () => undefined,
        () => undefined,
        () => undefined,
      );
      await run('failed');
      const deps = await open(hanging.address('hanging'), receiver.address());
      const raising = raiseAlerts(deps);
      await vi.waitFor(async () =>
        expect((await deliveries()).map(({ is_delivered }) => is_delivered)).toEqual([false, true]),
      );
      await vi.waitFor(() => expect(hanging.received).toHaveLength(1));
      clock.advance(10_000);
      expect(await raising).toMatchObject({ delivered: 1, waiting: 1 });
      expect((await deliveries())[0]?.last_error).toContain('did not answer');
      for (let n = 0; n < 3; n++) {
        clock.advance(15 * MINUTE_MS);
        const again = raiseAlerts(deps);
        if (n === 0) {
          await vi.waitFor(() => expect(hanging.received).toHaveLength(2));
          clock.advance(10_000);
        }
        await again;
      }
      expect(hanging.received).toHaveLength(2);
      expect((await deliveries())[0]).toMatchObject({ attempts: 2, is_given_up: true });
    } finally {
      await hanging.close();
    }
  });
});

describe('a service that hangs', () => {
  const LOGIN = 'The git host refuses the login';
  const hang = () => undefined;
  const failLogin = async () =>
    insertResult(database.db, await run('completed'), 'o/a', { status: 'failed', fault: 'login' });
  /** Raises alerts while the given number of messages hang, one after the other. */
  async function raiseHanging(deps: Awaited<ReturnType<typeof open>>, count: number) {
    const before = receiver.received.length;
    const raising = raiseAlerts(deps);
    for (let n = 1; n <= count; n++) {
      await vi.waitFor(() => expect(receiver.received).toHaveLength(before + n));
      clock.advance(10_000);
    }
    return raising;
  }
  beforeEach(async () => {
    await failLogin();
    clock.advance(MINUTE_MS);
    await run('failed');
  });

  it('still gets the next message if it hangs on one, and later only messages about the first incident', async () => {
    receiver.answers.push(hang);
    const deps = await open();
    expect(await raiseHanging(deps, 1)).toMatchObject({ delivered: 1, waiting: 1 });
    expect(receiver.titles()).toEqual([TITLE, LOGIN]);
    clock.advance(MINUTE_MS);
    await run('completed');
    await raiseAlerts(deps);
    expect(receiver.titles()).toHaveLength(2);
    await raiseAfter(deps, 15 * MINUTE_MS);
    expect(receiver.titles().slice(2)).toEqual([TITLE, `Resolved: ${TITLE}`]);
  });

  it('gets no third message after hanging on two, until those were retried', async () => {
    await sql(
      database.db,
      `INSERT INTO anomalies (repo_full_name, version, kind, change_count) VALUES ('o/a', 2, 'shrunk', 1)`,
    );
    receiver.answers.push(hang, hang);
    const deps = await open();
    expect(await raiseHanging(deps, 2)).toMatchObject({ delivered: 0, waiting: 3 });
    await raiseAfter(deps, 10 * MINUTE_MS);
    expect(receiver.titles()).toEqual([TITLE, LOGIN]);
    expect(await raiseAfter(deps, 10 * MINUTE_MS)).toMatchObject({ delivered: 3, waiting: 0 });
  });
});

describe('a process that is killed while it sends', () => {
  const child = join(import.meta.dirname, '../../support/alert-child.ts');

  /** Starts a process that sends, and kills it once the service has the message. */
  async function killWhileSending(): Promise<void> {
    const before = receiver.received.length;
    receiver.answers.push(() => undefined);
    const sender = spawn(process.execPath, [child, database.url, receiver.address()], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(sender, 'exit');
    await vi.waitFor(() => expect(receiver.received).toHaveLength(before + 1), {
      timeout: 120_000,
    });
    sender.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
  }

  it('leaves one retry to the next process after its lease', async () => {
    clock = createTestClock(Date.now());
    await run('failed');
    await killWhileSending();
    const deps = await open();
    await raiseAfter(deps, MINUTE_MS);
    expect(receiver.received).toHaveLength(1);
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 5 * MINUTE_MS);
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
    expect(await deliveries()).toMatchObject([{ attempts: 2, is_delivered: true }]);
  });

  it('causes no third attempt if that happens twice, and the delivery says why', async () => {
    clock = createTestClock(Date.now());
    await run('failed');
    await killWhileSending();
    await sql(database.db, "UPDATE alert_deliveries SET claimed_until = '-infinity'");
    await killWhileSending();
    const deps = await open();
    for (let n = 0; n < 3; n++) await raiseAfter(deps, 5 * MINUTE_MS);
    expect(receiver.received).toHaveLength(2);
    expect(await deliveries()).toMatchObject([
      {
        ...{ attempts: 2, is_delivered: false, is_given_up: true },
        last_error: 'it may have arrived twice, and is not sent again',
      },
    ]);
  });
});
