import { expect, it } from 'vitest';
import { LeaseQueue } from '../../../lib/database/embedded/lease-queue.ts';

it('gives leases in the order in which they were asked for', async () => {
  const leases = new LeaseQueue();
  const first = await leases.acquire();
  const order: number[] = [];
  const later = [1, 2, 3].map(async (n) => {
    const lease = await leases.acquire();
    order.push(n);
    lease.release();
  });
  first.release();
  await Promise.all(later);
  expect(order).toEqual([1, 2, 3]);
});

it('gives out one lease at a time, also when one is released twice', async () => {
  const leases = new LeaseQueue();
  const first = await leases.acquire();
  first.release();
  const second = await leases.acquire();
  first.release();
  const third = leases.acquire();
  expect(leases.waiting).toBe(1);
  second.release();
  await third;
  expect(leases.held).toBe(true);
});

it('passes over one who stopped waiting', async () => {
  const leases = new LeaseQueue();
  const first = await leases.acquire();
  const given = new AbortController();
  const gone = leases.acquire(given.signal);
  const next = leases.acquire();
  given.abort(new Error('no more'));
  await expect(gone).rejects.toThrow('no more');
  first.release();
  await next;
});

it('tells the holder when somebody waits', async () => {
  const leases = new LeaseQueue();
  await leases.acquire();
  const wanted = leases.whenWanted(new AbortController().signal);
  const refused = expect(leases.acquire()).rejects.toThrow('closed');
  await wanted;
  leases.close(new Error('closed'));
  await refused;
});

it('closes when the lease that is out has ended', async () => {
  const leases = new LeaseQueue();
  const lease = await leases.acquire();
  let closed = false;
  const closing = leases.close(new Error('closed')).then(() => {
    closed = true;
  });
  await Promise.resolve();
  expect(closed).toBe(false);
  lease.release();
  await closing;
  await expect(leases.acquire()).rejects.toThrow('closed');
});
