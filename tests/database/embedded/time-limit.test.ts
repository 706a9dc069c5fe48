import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startTimeLimit } from '../../../lib/database/embedded/time-limit.ts';
import { createTestClock } from '../../support/clock.ts';

/** A limit of a second, and how often it has ended something so far. */
function start(condition = () => true) {
  const clock = createTestClock();
  const ends = vi.fn();
  const lift = startTimeLimit({ clock, limitMs: 1_000, end: ends, condition });
  return { clock, ends, lift };
}

it('ends what takes too long', async () => {
  const { clock, ends } = start();
  clock.advance(1_000);
  await nextRound();
  await nextRound();
  expect(ends).toHaveBeenCalledOnce();
});

it('ends nothing that came while the process was busy until the time was over', async () => {
  const { clock, ends, lift } = start();
  clock.advance(1_000);
  // A socket is read after timers, and before immediates.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  lift();
  await nextRound();
  await nextRound();
  expect(ends).not.toHaveBeenCalled();
});
