import { expect, it } from 'vitest';
import { linkSignal, PendingWork } from '../../lib/async.ts';

/** Whether a promise has settled after everything that needs no time. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(() => resolve(false)));
  return (await Promise.race([promise.then(() => true), later])) === true;
}

it('waits for all work, also for what is added while it waits and for what fails', async () => {
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

it('a linked signal aborts with its reason, at once or later, and not after it was let go', () => {
  const given = new AbortController();
  const [linked, released] = [linkSignal(given.signal), linkSignal(given.signal)];
  released.release();
  given.abort('the reason');
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'the reason']);
  expect(released.signal.aborted).toBe(false);
  expect(linkSignal(given.signal).signal.reason).toBe('the reason');
});
