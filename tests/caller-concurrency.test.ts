import { expect, it } from 'vitest';
import { createCallerLimit } from '../lib/caller-concurrency.ts';

const { signal } = new AbortController();

/** Starts work that lasts until it is told to end, and records what was started. */
function startIn(limit: ReturnType<typeof createCallerLimit>) {
  const started: string[] = [];
  const start = (name: string, caller = 'ada', until = signal) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = limit(caller, until, () => {
      started.push(name);
      return promise;
    });
    return { end: resolve, done };
  };
  return { started, start };
}

const settle = () => new Promise((done) => setImmediate(done));

it('the limit starts work in order, as earlier work ends', async () => {
  const { started, start } = startIn(createCallerLimit({ total: 2, perCaller: 2 }));
  const [first, second] = [start('first'), start('second'), start('third'), start('fourth')];
  await settle();
  expect(started).toEqual(['first', 'second']);
  second.end();
  await settle();
  expect(started).toEqual(['first', 'second', 'third']);
  first.end();
  await settle();
  expect(started).toHaveLength(4);
});

it('the limit leaves room for other callers, however much one asks for', async () => {
  const { started, start } = startIn(createCallerLimit({ total: 2, perCaller: 1 }));
  const ada = [start('ada 1'), start('ada 2'), start('ada 3')];
  for (const name of ['bob', 'eve']) {
    const other = start(name, name);
    await settle();
    expect(started.at(-1)).toBe(name);
    other.end();
    await other.done;
  }
  for (const { end } of ada) end();
  await Promise.all(ada.map(({ done }) => done));
  expect(started).toEqual(['ada 1', 'bob', 'eve', 'ada 2', 'ada 3']);
});

it('the limit never starts work whose caller has stopped waiting', async () => {
  const { started, start } = startIn(createCallerLimit({ total: 1, perCaller: 1 }));
  const first = start('first');
  const stop = new AbortController();
  const waiting = start('waiting', 'ada', stop.signal);
  stop.abort(new Error('gone'));
  await expect(waiting.done).rejects.toThrow('gone');
  await expect(start('late', 'ada', stop.signal).done).rejects.toThrow('gone');
  first.end();
  const next = start('next');
  await settle();
  next.end();
  await next.done;
  expect(started).toEqual(['first', 'next']);
});

it('the limit passes failures on and starts the next work', async () => {
  const limit = createCallerLimit({ total: 1, perCaller: 1 });
  await expect(limit('ada', signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await limit('ada', signal, async () => 'yes')).toBe('yes');
});

it('the limit bounds how many calls of one caller wait, except those whose caller has left', async () => {
  const { started, start } = startIn(createCallerLimit({ total: 2, perCaller: 1, maxWaiting: 2 }));
  const first = start('first');
  await settle();
  const stop = new AbortController();
  const leaving = start('leaving', 'ada', stop.signal);
  const second = start('second');
  await expect(start('refused').done).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    headers: { 'Retry-After': '5' },
  });
  const other = start('other', 'bob');
  stop.abort(new Error('gone'));
  await expect(leaving.done).rejects.toThrow('gone');
  const third = start('third');
  for (const { end, done } of [first, second, third, other]) {
    end();
    await done;
  }
  expect(started).toEqual(['first', 'other', 'second', 'third']);
});
