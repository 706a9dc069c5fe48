import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAlertChannels } from '../../lib/alerts/channels/open-channels.ts';
import { alertDatabaseUnreachable } from '../../lib/alerts/outage/database-outage.ts';
import { rememberInFolder } from '../../lib/alerts/outage/folder-memory.ts';
import type { OutageMemory } from '../../lib/alerts/outage/outage-memory.ts';
import type { OutageWatchDeps } from '../../lib/backups/runs/outage-watch.ts';
import { sweep } from '../../lib/backups/runs/stale-run-sweep.ts';
import type { Database } from '../../lib/database/database.ts';
import { createTestDeps, type TestDeps } from '../support/deps.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import {
  type AlertReceiver,
  HOUR_MS,
  listStored,
  startAlertReceiver,
} from '../support/incidents.ts';
import { empty, sql } from '../support/records.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const MINUTE_MS = 60_000;
const TITLE = 'The database cannot be reached';

const database = useDatabase();
const dataFolder = useTemporaryFolder();
let receiver: AlertReceiver;
let down: Database;

beforeEach(async () => {
  await empty(database.db);
  await sql(database.db, 'TRUNCATE incidents CASCADE');
  [receiver, down] = await Promise.all([startAlertReceiver(), openDownDatabase()]);
});
afterEach(() => Promise.all([receiver.close(), down.close()]));

/** Runs only the first of several calls. */
function onlyFirst<Args extends unknown[]>(work: (...args: Args) => Promise<void>) {
  let isDone = false;
  return async (...args: Args) => {
    if (!isDone) await work(...args);
    isDone = true;
  };
}

type SweptDeps = OutageWatchDeps & TestDeps;

const depsWith = (environment = {}): SweptDeps => ({
  ...createTestDeps({
    db: database.db,
    environment: { ALERT_CHANNELS: receiver.address(), ...environment },
  }),
  outageMemory: null,
});
/** Channels with these names, all sending to the receiver. */
const namedChannels = (names: string[]) =>
  names.map((name) => `${name}=ntfy+${receiver.url}/${name}`).join(' ');
/** The folder's memory; its own failures are not logged. */
const folderMemory = () => rememberInFolder(dataFolder, () => undefined);
const inFolder = (environment = {}): SweptDeps => ({
  ...depsWith(environment),
  outageMemory: folderMemory(),
});

/** Sweeps after some minutes and returns the outcome. */
async function sweepAfter(minutes: number, db: Database, deps: SweptDeps): Promise<unknown> {
  deps.clock.advance(minutes * MINUTE_MS);
  const databaseUse = { ...deps.databaseUse, unrecorded: db };
  return sweep({ ...deps, databaseUse }).catch((error) => error.code);
}

async function tellOnceAndResolve(deps: SweptDeps): Promise<void> {
  const AWAY = 'SERVICE_UNAVAILABLE';
  // An idle database is only swept in the first ten minutes of an hour.
  expect(await sweepAfter(55, down, deps)).toBe(AWAY);
  expect(receiver.titles()).toEqual([]);
  // Later in the hour only a known outage is followed up.
  expect(await sweepAfter(10, down, deps)).toBe(AWAY);
  expect(await sweepAfter(10, down, deps)).toBe(AWAY);
  expect(receiver.titles()).toEqual([TITLE]);
  expect(receiver.received[0]?.body).toContain('The server: it has not answered for 10 minutes');
  expect(await sweepAfter(24 * 60, down, deps)).toBe(AWAY);
  expect(await sweepAfter(10, down, deps)).toBe(AWAY);
  expect(receiver.titles()).toEqual([TITLE, `Still: ${TITLE}`]);

  expect(await sweepAfter(10, database.db, deps)).toMatchObject({ swept: 0 });
  await sweepAfter(60, database.db, deps);
  expect(receiver.titles()).toEqual([TITLE, `Still: ${TITLE}`, `Resolved: ${TITLE}`]);
  expect(await listStored(database.db)).toMatchObject([
    {
      rule: 'database_unreachable',
      is_open: false,
      summary: 'The server could not reach the database',
    },
  ]);
}

describe('the sweep of a server whose database is down', () => {
  it('notifies the channels once, reminds them once a day, and reports the end of the outage', async () => {
    await tellOnceAndResolve(inFolder());
  });

  it('does not repeat a notification sent before the server was started', async () => {
    const first = inFolder();
    await sweepAfter(55, down, first);
    await sweepAfter(10, down, first);
    const second = inFolder();
    second.clock.advance(65 * MINUTE_MS);
    await sweepAfter(10, down, second);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('neither reports nor records an outage that has ended by the next sweep', async () => {
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, database.db, deps);
    // A later failure is another outage.
    await sweepAfter(60, down, deps);
    expect(receiver.titles()).toEqual([]);
    expect(await listStored(database.db)).toEqual([]);
  });

  it('does not repeat a notification by the worker on this machine', async () => {
    const deps = inFolder();
    const { clock, config, log } = deps;
    const memory = folderMemory();
    await alertDatabaseUnreachable(
      { memory, who: 'The worker', clock, tell: log.warn },
      await openAlertChannels(config, { db: null, fetch, clock }),
      { reason: 'it did not answer after a run', toleratedMs: 0 },
    );
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('notifies nobody if nothing outlives the process', async () => {
    const deps = depsWith();
    for (const minutes of [55, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([]);
  });

  it('notifies the channels once although nothing can be written, as on a full disk', async () => {
    await writeFile(join(dataFolder, 'alerts'), 'no folder');
    const deps = inFolder();
    for (const minutes of [55, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(await sweepAfter(10, database.db, deps)).toMatchObject({ swept: 0 });
    expect(receiver.titles()).toEqual([TITLE, `Resolved: ${TITLE}`]);
  });

  it('records each attempt before sending, and makes no third attempt if it is killed each time', async () => {
    const deps = inFolder();
    const channels = await openAlertChannels(deps.config, { db: null, fetch, clock: deps.clock });
    const dying = channels.map((channel) => ({
      ...channel,
      async send() {
        expect(await folderMemory().read()).toMatchObject({
          channels: [{ name: 'phone', unclear: tries, delivered: null }],
        });
        throw new Error('killed');
      },
    }));
    let tries = 0;
    const noted: OutageMemory = folderMemory();
    for (tries = 1; tries <= 3; tries++) {
      // Drops what a killed process would have written after sending.
      const memory = { ...noted, write: onlyFirst(noted.write) };
      const outage = { memory, who: 'The server', clock: deps.clock, tell: deps.log.warn };
      await alertDatabaseUnreachable(outage, dying, { reason: 'it is away', toleratedMs: 0 });
      deps.clock.advance(15 * MINUTE_MS);
    }
    expect(await noted.read()).toMatchObject({ channels: [{ attempts: 2, unclear: 2 }] });
  });

  it('sends one notification if it runs at the same moment as the worker on this machine', async () => {
    receiver.answers.push({ status: 500 }, { status: 500 }, { status: 500 });
    const { clock, config, log } = inFolder();
    const channels = await openAlertChannels(config, { db: null, fetch, clock });
    const tellAs = (who: string) =>
      alertDatabaseUnreachable({ memory: folderMemory(), who, clock, tell: log.warn }, channels, {
        reason: 'it does not answer',
        toleratedMs: 0,
      });
    const who = ['The worker', 'The server', 'Another worker'];
    await Promise.all(who.map(tellAs));
    expect(receiver.titles()).toEqual([TITLE]);
    // It may have arrived, so it is tried once more after 15 minutes.
    clock.advance(14 * MINUTE_MS);
    await Promise.all(who.map(tellAs));
    expect(receiver.titles()).toEqual([TITLE]);
    clock.advance(MINUTE_MS);
    await Promise.all(who.map(tellAs));
    clock.advance(60 * MINUTE_MS);
    await Promise.all(who.map(tellAs));
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
  });

  it('waits as long as a service asks, and gives up on a channel that the service does not know', async () => {
    const ALERT_CHANNELS = namedChannels(['phone', 'other']);
    receiver.answers.push({ status: 429, headers: { 'Retry-After': '7200' } }, { status: 404 });
    const deps = inFolder({ ALERT_CHANNELS });
    await sweepAfter(55, down, deps);
    for (let n = 0; n < 12; n++) await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
    await sweepAfter(10, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE, TITLE, TITLE]);
  });

  it('reports a flapping database at most three times a day', async () => {
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    for (let n = 0; n < 10; n++) {
      await sweepAfter(10, down, deps);
      await sweepAfter(5, database.db, deps);
      await sweepAfter(5, down, deps);
    }
    const opened = () => receiver.titles().filter((title) => title === TITLE);
    expect(opened()).toHaveLength(3);
    // It is still reported if it stays down, from 10:01 on.
    await sweepAfter(40, down, deps);
    for (let n = 0; n < 21; n++) await sweepAfter(60, down, deps);
    expect(opened()).toHaveLength(4);
  });

  it('starts over if nobody was notified and nothing was checked for a while', async () => {
    await sweepAfter(55, down, inFolder());
    const later = inFolder();
    later.clock.advance(55 * MINUTE_MS + 5 * HOUR_MS);
    await sweepAfter(0, down, later);
    expect(receiver.titles()).toEqual([]);
    await sweepAfter(10, down, later);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('ignores times from a clock that was a year ahead', async () => {
    const ahead = inFolder();
    ahead.clock.advance(365 * 24 * HOUR_MS);
    await sweepAfter(55, down, ahead);
    await sweepAfter(10, down, ahead);
    const right = inFolder();
    await sweepAfter(55, down, right);
    await sweepAfter(10, down, right);
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
  });

  it('notifies channels of any name', async () => {
    const ALERT_CHANNELS = namedChannels(['constructor', 'toString', 'valueOf']);
    const deps = inFolder({ ALERT_CHANNELS });
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE, TITLE, TITLE]);
  });

  it('notifies again if the stored state is invalid', async () => {
    await mkdir(join(dataFolder, 'alerts'));
    const path = join(dataFolder, 'alerts', 'database-away.json');
    await writeFile(path, '{"since": "yesterday"}');
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      channels: [{ name: 'phone', attempts: 1, delivered: expect.any(String) }],
    });
  });

  it('says "Still" only to channels that were notified before', async () => {
    receiver.answers.push({ status: 429 });
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    receiver.answers.push({ status: 429 });
    for (const minutes of [25 * 60, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([TITLE, TITLE, TITLE]);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining('did not reach phone: ntfy answered 429'),
      }),
    );
  });
});

describe.skipIf(!hasRedisServer)('a server without a disk (skipped without redis-server)', () => {
  let redis: UpstashRest;
  beforeEach(async () => {
    redis = await startUpstashRest();
  });
  afterEach(() => redis.close());

  it('records its notifications in Redis', async () => {
    await tellOnceAndResolve(depsWith(redis.environment));
    expect(await redis.send(['EXISTS', 'backup:database-away'])).toBe(1);
    expect(await redis.send(['EXISTS', 'backup:database-away-lock'])).toBe(0);
  });

  it('sends one notification if several instances sweep at the same moment', async () => {
    const instances = [1, 2, 3].map(() => depsWith(redis.environment));
    for (const minutes of [55, 10]) {
      await Promise.all(instances.map((deps) => sweepAfter(minutes, down, deps)));
    }
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('notifies nobody while Redis is down too', async () => {
    redis.mode = 'fail';
    const deps = depsWith(redis.environment);
    for (const minutes of [55, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([]);
  });
});
