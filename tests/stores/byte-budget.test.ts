import { expect, it } from 'vitest';
import { createByteBudget } from '../../lib/stores/byte-budget.ts';

it('lets the next one wait until there is room', async () => {
  const budget = createByteBudget(8);
  const [first, second] = [await budget.takeBuffer(4), await budget.take(4)];
  const order: string[] = [];
  const third = budget.takeBuffer(8).then(() => order.push('third'));
  first.release();
  order.push('released one');
  second();
  order.push('released both');
  await third;
  expect(order).toEqual(['released one', 'released both', 'third']);
});

it('lends the same memory again', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  expect((await budget.takeBuffer(4)).buffer).toBe(first.buffer);
});

it('lends nobody memory that is still in use', async () => {
  const budget = createByteBudget(8);
  const [first, second] = [await budget.takeBuffer(4), await budget.takeBuffer(4)];
  expect(second.buffer).not.toBe(first.buffer);
});

it('lends memory of the size that is asked for', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  expect((await budget.takeBuffer(3)).buffer).toHaveLength(3);
});

it('keeps no memory for which others have taken the room', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  const release = await budget.take(5);
  release();
  expect((await budget.takeBuffer(4)).buffer).not.toBe(first.buffer);
});

it('keeps no memory once nobody uses any', async () => {
  const budget = createByteBudget(8);
  const first = await budget.takeBuffer(4);
  first.release();
  expect((await budget.takeBuffer(4)).buffer).not.toBe(first.buffer);
});
