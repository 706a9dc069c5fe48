import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Scheduler, startScheduler } from '../../lib/schedule/scheduler.ts';
import type { WorkerEnd } from '../../lib/schedule/worker-process.ts';
import { parseTiming } from '../../lib/timing/timing.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { silentLog } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { rowsOf } from '../support/worker.ts';

const DAY = 86_400_000;
const database = useDatabase();
const zone = 'Europe/Berlin';

let clock: TestClock;
let scheduler: Scheduler;
let calls: { args: readonly string[]; end(how: Partial<WorkerEnd>): void }[];
let crashes: number;
let next: PromiseWithResolvers<void>;

beforeEach(async () => {
  await database.db.query({ text: 'TRUNCATE schedules, backup_run_requests, backup_runs CASCADE' });
  clock = createTestClock(Date.parse('2026-03-04T10:00:00Z'));
  calls = [];
  crashes = 0;
  next = Promise.withResolvers();
});
afterEach(() => scheduler.close());

const begin = (timing: string) => {
  scheduler = startScheduler({
    ...{ db: database.db, clock, log: silentLog, machine: 'here' },
    lastUse: async () => clock.now(),
    declared: { timing: parseTiming(timing), timeZone: zone },
    startWorker(args) {
      const { promise, resolve } = Promise.withResolvers<WorkerEnd>();
      calls.push({
        args,
        end: (how) => resolve({ code: 0, signal: null, lastLine: '', ...how }),
      });
      next.resolve();
      return { ended: promise, stop: () => resolve({ code: 1, signal: null, lastLine: '' }) };
    },
    onCrash: async () => void crashes++,
  });
};
/** Resolves when the next worker has been started. */
const started = async () => {
  await next.promise;
  next = Promise.withResolvers();
  return calls.at(-1) as (typeof calls)[number];
};
/** Resolves when the scheduler rests, or has started a worker. */
const rests = async () => {
  const before = calls.length;
  while (clock.sleepers() === 0 && calls.length === before) await new Promise(setImmediate);
};
/** Records the run of the newest worker, and ends it. */
const complete = async () => {
  await database.db.query(
    {
      text: `INSERT INTO backup_runs (status, started_at, schedule_id, covers_all, schedule_ms)
        SELECT 'completed', $1::timestamptz, id, true, interval_ms FROM schedules`,
    },
    [new Date(clock.now()).toISOString()],
  );
  calls.at(-1)?.end({});
  await rests();
};
const moveTo = async (text: string) => {
  await rests();
  clock.advance(Date.parse(`${text}Z`) - clock.now());
};
/** Makes the schedule as of a time by the test's clock: the database has its own. */
const since = async (text: string) => {
  await rests();
  await database.db.query({ text: `UPDATE schedules SET since = '${text}Z'` });
  clock.advance(5_000);
};

it('starts one worker after days in which the machine slept', async () => {
  begin('daily at 02:30');
  await since('2026-03-01');
  expect((await started()).args).toEqual(['run', '--schedule', expect.any(String)]);
  await complete();
  await moveTo('2026-03-09T12:00');
  await started();
  await complete();
  expect(calls).toHaveLength(2);
  expect(
    await rowsOf(database.db, `SELECT next_at = '2026-03-10T01:30Z' AS right FROM schedules`),
  ).toEqual([{ right: true }]);
});

it('starts at the time, and once where clocks change', async () => {
  begin('daily at 02:30');
  await since('2026-03-28T12:00');
  await moveTo('2026-03-29T00:59:59');
  await rests();
  expect(calls).toHaveLength(0);
  await moveTo('2026-03-29T01:00:05');
  await started();
  await complete();
  await moveTo('2026-03-29T12:00');
  await rests();
  expect(calls).toHaveLength(1);
});

it('starts a worker that crashes again, each time after a longer pause', async () => {
  begin('1d');
  await since('2026-03-01');
  const pauses = [];
  for (let crash = 0; crash < 4; crash++) {
    const worker = await started();
    const before = clock.now();
    worker.end({ code: null, signal: 'SIGKILL' });
    await rests();
    expect(crashes).toBe(crash + 1);
    while (calls.length === crash + 1) {
      await rests();
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    pauses.push(clock.now() - before);
  }
  const sorted = pauses.toSorted((a, b) => a - b);
  expect(pauses).toEqual(sorted);
  expect(pauses[3]).toBeGreaterThanOrEqual(40_000);
});

it('goes on after a worker that could not begin a run, and does not start it again at once', async () => {
  begin('1d');
  await since('2026-03-01');
  (await started()).end({ code: 4, lastLine: 'not logged in' });
  await rests();
  clock.advance(59_000);
  await rests();
  expect(calls).toHaveLength(1);
  clock.advance(6_000);
  await started();
  await complete();
  clock.advance(DAY - 60_000);
  await rests();
  expect(calls).toHaveLength(2);
  clock.advance(70_000);
  await started();
});
