import { expect, it } from 'vitest';
import { createSlots } from '../../lib/archives/slots.ts';

const { signal } = new AbortController();

it('gives places in the order of asking, as they become free', async () => {
  const slots = createSlots(2);
  const taken: string[] = [];
  const take = async (name: string) => {
    const release = await slots.take(signal);
    taken.push(name);
    return release;
  };
  const [first, second] = [await take('first'), await take('second')];
  const later = [take('third'), take('fourth')];
  expect(taken).toEqual(['first', 'second']);
  second();
  (await later[0])?.();
  await later[1];
  expect(taken).toEqual(['first', 'second', 'third', 'fourth']);
  first();
});

it('forgets who does not wait any more', async () => {
  const slots = createSlots(1);
  const release = await slots.take(signal);
  const stop = new AbortController();
  const waiting = slots.take(stop.signal);
  stop.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(slots.take(stop.signal)).rejects.toThrow('gone');
  release();
  expect(await slots.take(signal)).toBeTypeOf('function');
});
