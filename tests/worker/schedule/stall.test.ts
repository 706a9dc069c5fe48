import { expect, it } from 'vitest';
import { STALL_MS, watchForStall } from '../../../lib/worker/schedule/stall.ts';
import { createTestClock } from '../../support/clock.ts';

const receiving = (bytes: number, percent = 40) => ({ phase: 'Receiving objects', percent, bytes });

function watch() {
  const clock = createTestClock();
  const stalls: string[] = [];
  const stall = watchForStall(clock, ({ message }) => stalls.push(message));
  const pass = async (ms: number) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { clock, stalls, stall, pass };
}

it('a transfer without progress for five minutes is given up, once', async () => {
  const { stall, stalls, pass } = watch();
  stall.saw(receiving(1));
  await pass(STALL_MS - 1);
  stall.saw(receiving(2));
  await pass(STALL_MS - 1);
  // Repeating the same progress is no sign of life.
  stall.saw(receiving(2));
  expect(stalls).toEqual([]);
  await pass(1);
  expect(stalls).toEqual(['the transfer stalled: no data for 5 minutes']);
  await pass(2 * STALL_MS);
  expect(stalls).toHaveLength(1);
});

it("this machine's own work may show no progress for long", async () => {
  const { stall, stalls, pass } = watch();
  stall.saw(receiving(1));
  stall.saw({ phase: 'Resolving deltas', percent: 1, bytes: null });
  await pass(STALL_MS);
  await pass(STALL_MS);
  stall.saw(receiving(5, 100));
  await pass(STALL_MS);
  expect(stalls).toEqual([]);
  stall.saw(receiving(9, 50));
  await pass(STALL_MS);
  await pass(STALL_MS);
  expect(stalls).toHaveLength(1);
});

it('the stall watch ends with the transfer, and does not start without one', async () => {
  const { clock, stall, stalls, pass } = watch();
  expect(clock.sleepers()).toBe(0);
  stall.saw(receiving(1));
  stall.end();
  await pass(STALL_MS);
  expect([clock.sleepers(), stalls]).toEqual([0, []]);
});
