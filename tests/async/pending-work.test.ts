import { expect, it } from 'vitest';
import { linkSignal, PendingWork } from '../../lib/async.ts';

/** Whether a promise has settled once all immediate work is done. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(() => resolve(false)));
  return (await Promise.race([promise.then(() => true), later])) === true;
}

it('pending work is settled once all of it has ended, including work that fails or is added meanwhile', async () => {
  const underWay = new PendingWork();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  underWay.add(first.promise);
  const settled = underWay.settled();
  underWay.add(second.promise);
  first.resolve();
  expect(await hasSettled(settled)).toBe(false);
  second.reject(new Error('dealt with elsewhere'));
  expect(await hasSettled(settled)).toBe(true);
});

it('a linked signal aborts with the reason of the other, at once or later, unless released', () => {
  const given = new AbortController();
  const [linked, released] = [linkSignal(given.signal), linkSignal(given.signal)];
  released.release();
  given.abort('the reason');
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'the reason']);
  expect(released.signal.aborted).toBe(false);
  expect(linkSignal(given.signal).signal.reason).toBe('the reason');
});
