import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startTimeLimit } from '../../../lib/database/embedded/time-limit.ts';
import { FatalError } from '../../../lib/database/embedded/wire-messages.ts';
import { createTestClock } from '../../support/clock.ts';

/** A limit of a second, and the reasons that it has ended something with so far. */
function start() {
  const clock = createTestClock();
  const reason = new FatalError('25P04', 'too long');
  const ends: Error[] = [];
  const lift = startTimeLimit({
    clock,
    limitMs: 1_000,
    reason,
    end: (cause) => ends.push(cause),
  });
  return { clock, reason, ends, lift };
}

it('ends what takes too long, with the reason', async () => {
  const { clock, reason, ends } = start();
  clock.advance(1_000);
  await nextRound();
  await nextRound();
  expect(ends).toEqual([reason]);
});

it('ends nothing that came while the process was busy until the time was over', async () => {
  const { clock, ends, lift } = start();
  clock.advance(1_000);
  // A socket is read after timers, and before immediates.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  lift();
  await nextRound();
  await nextRound();
  expect(ends).toEqual([]);
});
