import { expect, it } from 'vitest';
import { createByteBudget } from '../../lib/stores/base/byte-budget.ts';

it('a byte budget makes requests wait until there is room', async () => {
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

it('a byte budget reuses released buffers', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  expect((await budget.takeBuffer(4)).buffer).toBe(first.buffer);
});

it('a byte budget never hands out a buffer that is in use', async () => {
  const budget = createByteBudget(8);
  const [first, second] = [await budget.takeBuffer(4), await budget.takeBuffer(4)];
  expect(second.buffer).not.toBe(first.buffer);
});

it('a byte budget returns buffers of the requested size', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  expect((await budget.takeBuffer(3)).buffer).toHaveLength(3);
});

it('a byte budget drops idle buffers when others need the room', async () => {
  const budget = createByteBudget(8);
  const [first] = [await budget.takeBuffer(4), await budget.take(1)];
  first.release();
  const release = await budget.take(5);
  release();
  expect((await budget.takeBuffer(4)).buffer).not.toBe(first.buffer);
});

it('a byte budget drops all idle buffers once none is in use', async () => {
  const budget = createByteBudget(8);
  const first = await budget.takeBuffer(4);
  first.release();
  expect((await budget.takeBuffer(4)).buffer).not.toBe(first.buffer);
});
