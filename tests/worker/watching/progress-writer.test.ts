import { expect, it } from 'vitest';
import type { RunProgress } from '../../../lib/records/recording/progress.ts';
import { createProgressWriter } from '../../../lib/worker/run/watching/progress-writer.ts';
import { createTestClock } from '../../support/clock.ts';
import { tellTo } from '../../support/run-entries.ts';

/** Lets pending work of the writer finish. */
const settle = () => new Promise(setImmediate);

function start(write: (progress: RunProgress) => Promise<void>) {
  const clock = createTestClock();
  const errors: unknown[] = [];
  const writer = createProgressWriter({ clock, write, onError: (error) => errors.push(error) });
  return { clock, errors, writer: { ...writer, ...tellTo(writer.watch) } };
}

it('the progress writer writes a change at once, and the newest of the following ones a second later', async () => {
  const written: RunProgress[] = [];
  const { clock, writer } = start(async (progress) => {
    written.push(progress);
  });
  writer.working('a/b', 'reading refs');
  await settle();
  const none = { percent: null, bytes: null };
  const refs = { repository: 'a/b', phase: 'reading refs', ...none };
  expect(written).toEqual([{ bytes: 0, active: [refs] }]);
  writer.working('a/b', { phase: 'Receiving objects', percent: 1, bytes: 10 });
  writer.working('a/b', { phase: 'Receiving objects', percent: 2, bytes: 20 });
  clock.advance(999);
  await settle();
  expect(written).toHaveLength(1);
  clock.advance(1);
  await settle();
  const receiving = { repository: 'a/b', phase: 'Receiving objects', percent: 2, bytes: 20 };
  expect(written.slice(1)).toEqual([{ bytes: 20, active: [receiving] }]);
  // Without a change, nothing is written.
  clock.advance(1_000);
  await settle();
  expect([written.length, clock.sleepers()]).toEqual([2, 0]);
  writer.resting('a/b');
  await settle();
  expect(written.at(-1)).toEqual({ bytes: 20, active: [] });
});

it('the progress writer never writes two changes at once, however long a write takes', async () => {
  const held = Promise.withResolvers<void>();
  let writes = 0;
  const { clock, writer } = start(() => {
    writes++;
    return held.promise;
  });
  writer.working('a/b', 'reading refs');
  for (const phase of ['Receiving objects', 'Resolving deltas']) {
    clock.advance(60_000);
    writer.working('a/b', phase);
    await settle();
  }
  expect(writes).toBe(1);
  held.resolve();
  await settle();
  clock.advance(1_000);
  await settle();
  expect(writes).toBe(2);
});

it('the progress writer continues after a failed write, and writes nothing once the run is over', async () => {
  let writes = 0;
  const { clock, errors, writer } = start(async () => {
    if (++writes === 1) throw new Error('away');
  });
  writer.working('a/b', 'reading refs');
  await settle();
  expect(errors).toEqual([new Error('away')]);
  writer.working('a/b', 'Receiving objects');
  clock.advance(1_000);
  await settle();
  expect(writes).toBe(2);
  writer.resting('a/b');
  writer.closed();
  clock.advance(1_000);
  await settle();
  expect([writes, clock.sleepers()]).toEqual([2, 0]);
});
