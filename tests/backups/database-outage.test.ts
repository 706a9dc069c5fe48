import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAlertChannels } from '../../lib/alerts/channels/open-channels.ts';
import { tellDatabaseAway } from '../../lib/alerts/outage/database-outage.ts';
import { rememberInFolder } from '../../lib/alerts/outage/outage-memory.ts';
import type { OutageWatchDeps } from '../../lib/backups/runs/outage-watch.ts';
import { sweep } from '../../lib/backups/runs/stale-run-sweep.ts';
import type { Database } from '../../lib/database/database.ts';
import { createTestDeps, type TestDeps } from '../support/deps.ts';
import { openDownDatabase } from '../support/down-database.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { useDatabase } from '../support/hooks.ts';
import { type AlertReceiver, listStored, startAlertReceiver } from '../support/incidents.ts';
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

type SweptDeps = OutageWatchDeps & TestDeps;

const depsWith = (environment = {}): SweptDeps => ({
  ...createTestDeps({
    db: database.db,
    environment: { ALERT_CHANNELS: receiver.address(), ...environment },
  }),
  outageMemory: null,
});
const inFolder = (): SweptDeps => ({ ...depsWith(), outageMemory: rememberInFolder(dataFolder) });

/** Sweeps after some minutes, and tells how it ended. */
async function sweepAfter(minutes: number, db: Database, deps: SweptDeps): Promise<unknown> {
  deps.clock.advance(minutes * MINUTE_MS);
  const databaseUse = { ...deps.databaseUse, unnoted: db };
  return sweep({ ...deps, databaseUse }).catch((error) => error.code);
}

async function tellOnceAndResolve(deps: SweptDeps): Promise<void> {
  const AWAY = 'SERVICE_UNAVAILABLE';
  // The first ten minutes of an hour: an idle database is swept then.
  expect(await sweepAfter(55, down, deps)).toBe(AWAY);
  expect(receiver.titles()).toEqual([]);
  // No longer, but an outage is followed.
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

describe('the sweep of a server whose database is away', () => {
  it('tells it once, reminds once a day, and tells that it is over', async () => {
    await tellOnceAndResolve(inFolder());
  });

  it('does not tell again what was told before the server was started', async () => {
    const first = inFolder();
    await sweepAfter(55, down, first);
    await sweepAfter(10, down, first);
    const second = inFolder();
    second.clock.advance(65 * MINUTE_MS);
    await sweepAfter(10, down, second);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('tells nothing of one that is back for the next sweep, and records no incident', async () => {
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, database.db, deps);
    // A later one is another outage.
    await sweepAfter(60, down, deps);
    expect(receiver.titles()).toEqual([]);
    expect(await listStored(database.db)).toEqual([]);
  });

  it('does not repeat what the worker on this machine has told', async () => {
    const deps = inFolder();
    const { clock, config, log } = deps;
    const memory = rememberInFolder(dataFolder);
    await tellDatabaseAway(
      { memory, who: 'The worker', clock, tell: log.warn },
      await openAlertChannels(config, { db: null, fetch, clock }),
      { reason: 'it did not answer after a run', toleratedMs: 0 },
    );
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE]);
  });

  it('tells nothing where nothing outlives the process', async () => {
    const deps = depsWith();
    for (const minutes of [55, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([]);
  });

  it('sweeps although it cannot look up what was told, and logs that', async () => {
    const path = join(dataFolder, 'alerts', 'database-away.json');
    await mkdir(path, { recursive: true });
    const deps = inFolder();
    expect(await sweepAfter(55, database.db, deps)).toMatchObject({ swept: 0 });
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ message: 'an outage of the database could not be looked up' }),
    );
  });

  it('tells again if what is kept of it is not valid', async () => {
    await mkdir(join(dataFolder, 'alerts'));
    const path = join(dataFolder, 'alerts', 'database-away.json');
    await writeFile(path, '{"since": "yesterday"}');
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      channels: { phone: { attempts: 1, delivered: expect.any(String) } },
    });
  });

  it('says "Still" only to those who know', async () => {
    receiver.answers.push({ status: 429 });
    const deps = inFolder();
    await sweepAfter(55, down, deps);
    await sweepAfter(10, down, deps);
    receiver.answers.push({ status: 429 });
    await sweepAfter(25 * 60, down, deps);
    await sweepAfter(10, down, deps);
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

  it('remembers in Redis what it told', async () => {
    await tellOnceAndResolve(depsWith(redis.environment));
    expect(await redis.send(['EXISTS', 'backup:database-away'])).toBe(0);
  });

  it('tells nothing while Redis is away too', async () => {
    redis.mode = 'fail';
    const deps = depsWith(redis.environment);
    for (const minutes of [55, 10, 10]) await sweepAfter(minutes, down, deps);
    expect(receiver.titles()).toEqual([]);
  });
});
