import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../lib/caller.ts';
import { MAX_WAITING_PER_CALLER, StatementQueue } from '../../lib/database/statement-queue.ts';

const caller = (key: string, more: Partial<Caller> = {}): Caller => ({
  ...{ key, isLimited: true, phase: 'reading', signal: null },
  ...more,
});

/** A queue with a clock, in which each statement takes as long as it says. */
function createQueue({ slots = 1, maxWaitMs = 60_000 } = {}) {
  const hangsAfterMs = Number.POSITIVE_INFINITY;
  let now = 0;
  const order: string[] = [];
  const queue = new StatementQueue({ slots, maxWaitMs, hangsAfterMs, now: () => now });
  const run = (by: Caller | null, ms = 10, next: () => Promise<unknown> = async () => undefined) =>
    queue.run(by, 15_000, async () => {
      order.push(by?.key ?? 'own');
      await yieldToEventLoop();
      now += ms;
      await next();
    });
  return { queue, order, run };
}

/** Occupies the queue until the returned function is called. */
function occupy(queue: StatementQueue): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = queue.run(null, 15_000, () => promise);
  return () => {
    resolve();
    return running;
  };
}

describe('statements that wait', () => {
  it('are granted to the caller that has used the least time', async () => {
    const { queue, order, run } = createQueue();
    const free = occupy(queue);
    const all = [
      ...['a', 'a', 'a', 'a'].map((key) => run(caller(key), 100)),
      ...['b', 'b', 'b', 'b'].map((key) => run(caller(key), 10)),
      run(null, 10),
    ];
    await free();
    await Promise.all(all);
    expect(order.join(' ')).toBe('own a b b b b a a a');
  });

  it('of a caller that asks again at once come before those of one that used more time', async () => {
    const { queue, order, run } = createQueue();
    const free = occupy(queue);
    const flood = Array.from({ length: 5 }, () => run(caller('a'), 100));
    const two = run(caller('b'), 1).then(async () => {
      await yieldToEventLoop();
      return run(caller('b'), 50);
    });
    await free();
    await Promise.all([...flood, two]);
    expect(order.join(' ')).toBe('a b b a a a a');
  });

  it('of a caller with one slow statement are granted again after a second of the others', async () => {
    const { queue, order, run } = createQueue();
    const free = occupy(queue);
    const all = [run(caller('slow'), 600_000), run(caller('slow'), 10)];
    all.push(...Array.from({ length: 20 }, () => run(caller('b'), 100)));
    await free();
    await Promise.all(all);
    expect(order.lastIndexOf('slow')).toBeLessThanOrEqual(12);
  });

  it('run at once while slots are free', async () => {
    const { queue, run } = createQueue({ slots: 2 });
    const free = occupy(queue);
    await run(caller('a'));
    expect(queue.waiting).toBe(0);
    await free();
  });
});

describe('a caller', () => {
  it('may have 20 statements waiting, and more are rejected with 429', async () => {
    const { queue, run } = createQueue();
    const free = occupy(queue);
    const waiting = Array.from({ length: MAX_WAITING_PER_CALLER }, () => run(caller('a')));
    await expect(run(caller('a'))).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      headers: { 'Retry-After': '2' },
    });
    const others = [run(caller('b')), run(null), run(caller('a', { isLimited: false }))];
    await free();
    await Promise.all([...waiting, ...others]);
    await run(caller('a'));
  });

  it('that has begun to change something may finish that, however many wait', async () => {
    const { queue, run } = createQueue();
    const changing = caller('a', { phase: 'changing' });
    await run(changing);
    const free = occupy(queue);
    const waiting = Array.from({ length: MAX_WAITING_PER_CALLER }, () => run(caller('a')));
    await expect(run(caller('a', { phase: 'changing' }))).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    });
    const rest = run(changing);
    await free();
    await Promise.all([...waiting, rest]);
  });

  it('leaves the queue when its signal aborts', async () => {
    const { queue, order, run } = createQueue();
    const free = occupy(queue);
    const gone = new AbortController();
    const left = run(caller('a', { signal: () => gone.signal }));
    expect(queue.waiting).toBe(1);
    gone.abort();
    await expect(left).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect(queue.waiting).toBe(0);
    await expect(run(caller('a', { signal: () => gone.signal }))).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
    await free();
    expect(order).toEqual([]);
  });

  it('does not wait forever', async () => {
    const { queue, run } = createQueue({ maxWaitMs: 1 });
    const free = occupy(queue);
    await expect(run(caller('a'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await free();
  });
});

it('what waits is refused together', async () => {
  const { queue, run } = createQueue();
  const free = occupy(queue);
  const waiting = [run(caller('a')), run(null)];
  queue.refuseWaiting(new Error('down'));
  await Promise.all(waiting.map((one) => expect(one).rejects.toThrow('down')));
  expect(queue.waiting).toBe(0);
  await free();
});

describe('the time that a statement waits', () => {
  /** A queue with one slot, of a database that hangs after 100 ms, and the work that holds the slot. */
  function createHanging() {
    let now = 0;
    const queue = new StatementQueue({
      ...{ slots: 1, maxWaitMs: 60_000, hangsAfterMs: 100, now: () => now },
    });
    const hold = (timeoutMs = 15_000) => {
      const work = Promise.withResolvers<void>();
      return { ...work, ended: queue.run(null, timeoutMs, () => work.promise) };
    };
    const pass = (ms: number) => {
      now += ms;
      vi.advanceTimersByTime(ms);
    };
    return { queue, hold, pass };
  }
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const left = async (ms: number) => ms;

  it('does not count while the database answers others', async () => {
    const { queue, hold, pass } = createHanging();
    const first = hold();
    const second = hold();
    const waiting = queue.run(null, 200, left);
    pass(190);
    first.resolve();
    await first.ended;
    pass(190);
    second.resolve();
    await second.ended;
    expect(await waiting).toBe(200);
  });

  it('does not count while a statement runs that may take longer than usual', async () => {
    const { queue, hold, pass } = createHanging();
    const long = hold(60_000);
    const waiting = queue.run(null, 200, left);
    pass(50_000);
    long.resolve();
    await long.ended;
    expect(await waiting).toBe(200);
  });

  it('counts while it answers nobody', async () => {
    const { queue, hold, pass } = createHanging();
    const hanging = hold();
    const waiting = queue.run(null, 200, left);
    const patient = queue.run(null, 1_000, left);
    const short = queue.run(null, 10, left);
    const refused = { code: 'SERVICE_UNAVAILABLE' };
    pass(90);
    expect(queue.waiting).toBe(3);
    pass(10);
    await expect(short).rejects.toMatchObject(refused);
    expect(queue.waiting).toBe(2);
    pass(100);
    await expect(waiting).rejects.toMatchObject(refused);
    hanging.reject(Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' }));
    await expect(hanging.ended).rejects.toMatchObject(refused);
    expect(await patient).toBe(800);
  });
});
