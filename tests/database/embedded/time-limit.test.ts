import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startTimeLimit } from '../../../lib/database/embedded/time-limit.ts';
import { createTestClock } from '../../support/clock.ts';

/** A limit of one second, and how many times it was exceeded. */
function start(condition = () => true) {
  const clock = createTestClock();
  const ends = vi.fn();
  const lift = startTimeLimit({ clock, limitMs: 1_000, end: ends, condition });
  return { clock, ends, lift };
}

it('a time limit ends what takes too long', async () => {
  const { clock, ends } = start();
  clock.advance(1_000);
  await nextRound();
  await nextRound();
  expect(ends).toHaveBeenCalledOnce();
});

it('a time limit accepts data that arrived in time while the process was busy', async () => {
  const { clock, ends, lift } = start();
  clock.advance(1_000);
  // Sockets are read after timers and before immediates.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  lift();
  await nextRound();
  await nextRound();
  expect(ends).not.toHaveBeenCalled();
});
