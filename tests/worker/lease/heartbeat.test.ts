import { expect, it } from 'vitest';
import {
  HEARTBEAT_INTERVAL_MS,
  startHeartbeat,
} from '../../../lib/worker/archive/lease/heartbeat.ts';
import { createTestClock } from '../../support/clock.ts';

/** Starts a heartbeat whose beats have these outcomes in order. */
function start(answers: (boolean | Error)[]) {
  const clock = createTestClock();
  const lost: string[] = [];
  const heartbeat = startHeartbeat({
    clock,
    async beat() {
      const answer = answers.shift() ?? true;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    onTaken: () => lost.push('taken'),
    onUnreachable: () => lost.push('unreachable'),
  });
  return {
    lost,
    stop: heartbeat.stop,
    async advance(beats: number) {
      for (let beat = 0; beat < beats && lost.length === 0; beat++) {
        while (clock.sleepers() === 0) await new Promise(setImmediate);
        clock.advance(HEARTBEAT_INTERVAL_MS);
        while (clock.sleepers() === 0 && lost.length === 0) await new Promise(setImmediate);
      }
    },
  };
}
const down = () => new Error('the database is unreachable');

it('the heartbeat gives up the run before another worker may take it over', async () => {
  const { lost, advance, stop } = start(Array.from({ length: 10 }, down));
  await advance(3);
  expect(lost).toEqual([]);
  await advance(1);
  expect(lost).toEqual(['unreachable']);
  await stop();
});

it('the heartbeat tolerates a database that comes back', async () => {
  const { lost, advance, stop } = start([down(), down(), down(), true, down(), down(), down()]);
  await advance(10);
  expect(lost).toEqual([]);
  await stop();
});

it('the heartbeat gives up a run that is no longer ours', async () => {
  const { lost, advance, stop } = start([true, false]);
  await advance(2);
  expect(lost).toEqual(['taken']);
  await stop();
});
