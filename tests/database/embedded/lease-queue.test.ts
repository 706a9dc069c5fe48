import { expect, it } from 'vitest';
import { LeaseQueue } from '../../../lib/database/embedded/lease-queue.ts';

it('a queue grants leases in the order of requests', async () => {
  const leases = new LeaseQueue();
  const first = await leases.acquire();
  const order: number[] = [];
  const later = [1, 2, 3].map(async (n) => {
    const lease = await leases.acquire();
    order.push(n);
    lease();
  });
  first();
  await Promise.all(later);
  expect(order).toEqual([1, 2, 3]);
});

it('a queue skips callers that stopped waiting', async () => {
  const leases = new LeaseQueue();
  const first = await leases.acquire();
  const given = new AbortController();
  const gone = leases.acquire(given.signal);
  const next = leases.acquire();
  given.abort(new Error('no more'));
  await expect(gone).rejects.toThrow('no more');
  first();
  await next;
});

it('a queue closes when the current lease has ended', async () => {
  const leases = new LeaseQueue();
  const lease = await leases.acquire();
  const refused = expect(leases.acquire()).rejects.toThrow('closed');
  let closed = false;
  const closing = leases.close(new Error('closed')).then(() => {
    closed = true;
  });
  await Promise.resolve();
  expect(closed).toBe(false);
  await refused;
  lease();
  await closing;
  await expect(leases.acquire()).rejects.toThrow('closed');
});
