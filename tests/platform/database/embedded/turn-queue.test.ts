import { expect, it } from 'vitest';
import { TurnQueue } from '../../../../lib/platform/database/embedded/turn-queue.ts';

it('gives turns in the order in which they were asked for', async () => {
  const turns = new TurnQueue();
  const first = await turns.acquire();
  const order: number[] = [];
  const later = [1, 2, 3].map(async (n) => {
    const turn = await turns.acquire();
    order.push(n);
    turn.release();
  });
  first.release();
  await Promise.all(later);
  expect(order).toEqual([1, 2, 3]);
});

it('gives out one turn at a time, also when one is released twice', async () => {
  const turns = new TurnQueue();
  const first = await turns.acquire();
  first.release();
  const second = await turns.acquire();
  first.release();
  const third = turns.acquire();
  expect(turns.waiting).toBe(1);
  second.release();
  await third;
  expect(turns.held).toBe(true);
});

it('passes over one who stopped waiting', async () => {
  const turns = new TurnQueue();
  const first = await turns.acquire();
  const given = new AbortController();
  const gone = turns.acquire(given.signal);
  const next = turns.acquire();
  given.abort(new Error('no more'));
  await expect(gone).rejects.toThrow('no more');
  first.release();
  await next;
});

it('tells the holder when somebody waits', async () => {
  const turns = new TurnQueue();
  await turns.acquire();
  const wanted = turns.whenWanted(new AbortController().signal);
  const refused = expect(turns.acquire()).rejects.toThrow('closed');
  await wanted;
  turns.close(new Error('closed'));
  await refused;
});

it('closes when the turn that is out has ended', async () => {
  const turns = new TurnQueue();
  const turn = await turns.acquire();
  let closed = false;
  const closing = turns.close(new Error('closed')).then(() => {
    closed = true;
  });
  await Promise.resolve();
  expect(closed).toBe(false);
  turn.release();
  await closing;
  await expect(turns.acquire()).rejects.toThrow('closed');
});
