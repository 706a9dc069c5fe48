import { readdir } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Database, databaseUnavailable } from '../../../lib/database/database.ts';
import { watchLease } from '../../../lib/worker/run/fleet/lease-watch.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { openFleet } from '../../support/fleet.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

// A member that is not sure of its lease writes nothing, so that two machines never write one archive.

const database = useDatabase();
const bench = useHostedWorker(database);
let clock: TestClock;

beforeEach(async () => {
  clock = createTestClock();
  await bench.logIn();
  await bench.add({ fullName: 'team/a' });
});

/** Called before a statement of a member is sent. */
type Before = (name: string | undefined) => void | Promise<void>;

/** Starts a member and waits until it is in the middle of its repository. From then on, `before` is called. */
async function startMember(before: Before) {
  const held = openFleet(database, bench).hold('team/a');
  let isThere = false;
  const wrap = (db: Database): Database => ({
    ...db,
    async query(statement, values, options) {
      if (isThere) await before(statement.name);
      return db.query(statement, values, options);
    },
  });
  const env = { BACKUP_CONCURRENCY: '1' };
  const args = ['run', '--join'];
  const running = bench.run({ databaseUrl: database.url, args, env, clock, wrap });
  await held.came;
  isThere = true;
  return { running, release: held.release };
}

const archives = async () =>
  (await readdir(bench.archives)).filter((name) => /bundle|scratch/.test(name));
const results = () => rowsOf(database.db, 'SELECT repo_full_name FROM backup_results');

it('a member stops before it writes its note when a beat finds its repository taken over', async () => {
  const beaten = Promise.withResolvers<void>();
  const { running, release } = await startMember((name) => {
    if (name === 'beat_member') beaten.resolve();
  });
  await database.db.query({
    text: `UPDATE run_jobs SET claimed_by = 'another' WHERE kind = 'repository'`,
  });
  await database.db.query({
    text: `INSERT INTO run_members (run_id, id, machine) SELECT id, 'another', 'far' FROM backup_runs`,
  });
  clock.advance(30_000);
  await beaten.promise;
  const { code, stdout } = await running;
  release();
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^Left run \d+ \(the run was ended, or others have taken over/),
  });
  expect(await archives()).toEqual([]);
  expect(await results()).toEqual([]);
  // The other member keeps what it holds.
  const jobs = `SELECT claimed_by, state FROM run_jobs WHERE kind = 'repository'`;
  expect(await rowsOf(database.db, jobs)).toEqual([{ claimed_by: 'another', state: 'open' }]);
});

it('a member stops before its lease ends while the database is unreachable', async () => {
  let beats = 0;
  const { running, release } = await startMember(() => {
    beats++;
    throw databaseUnavailable(new Error('refused'));
  });
  let isOver = false;
  const over = running.finally(() => {
    isOver = true;
  });
  // It gives up after 100 seconds; what follows waits with the same clock.
  while (!isOver) {
    clock.advance(10_000);
    await new Promise(setImmediate);
  }
  const { code, stdout } = await over;
  release();
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining('the database is unreachable: this worker stops'),
  });
  expect(beats).toBeGreaterThan(3);
  expect(await archives()).toEqual([]);
});

it('a member does not write its note after its process was suspended, whatever the database says', async () => {
  // The beat after the pause comes too late to prevent the note: after the work on the repository.
  const { running, release } = await startMember(async (name) => {
    if (name !== 'beat_member') return;
    while ((await archives()).some((entry) => entry.startsWith('.scratch'))) {
      await new Promise(setImmediate);
    }
  });
  clock.advance(151_000);
  release();
  const { code, stdout } = await running;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining('has not renewed its lease in time'),
  });
  expect(await archives()).toEqual([]);
  expect(await results()).toEqual([]);
});

describe('the lease of a member', () => {
  it.each([
    ['the clock', 150_000, 0],
    ['the monotonic time', 0, 150_000],
  ])('ends by %s', (_by, clockMs, monotonicMs) => {
    const now = { clock: 0, monotonic: 0 };
    const watch = watchLease({ now: () => now.clock }, () => now.monotonic);
    now.clock = Math.max(0, clockMs - 1);
    now.monotonic = Math.max(0, monotonicMs - 1);
    watch.check();
    const asked = watch.now();
    now.clock = clockMs;
    now.monotonic = monotonicMs;
    expect(watch.check).toThrow('has not renewed its lease in time');
    watch.renewed(asked);
    watch.check();
  });
});
