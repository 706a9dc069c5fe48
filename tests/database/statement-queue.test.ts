import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../../lib/caller.ts';
import {
  MAX_WAITING_PER_CALLER,
  type StatementNeeds,
  StatementQueue,
} from '../../lib/database/statement-queue.ts';

const caller = (key: string, more: Partial<Caller> = {}): Caller => ({
  ...{ key, isLimited: true, phase: 'reading', signal: null },
  ...more,
});

const needs = (by: Caller | null, more: Partial<StatementNeeds> = {}): StatementNeeds => ({
  ...{ caller: by, timeoutMs: 15_000, giveWay: null },
  ...more,
});

/** A queue with a clock, in which each statement takes as long as it says. */
function createQueue({ slots = 1, maxWaitMs = 60_000 } = {}) {
  const hangsAfterMs = Number.POSITIVE_INFINITY;
  let now = 0;
  const order: string[] = [];
  const queue = new StatementQueue({ slots, maxWaitMs, hangsAfterMs, now: () => now });
  const run = (by: Caller | null, ms = 10, next: () => Promise<unknown> = async () => undefined) =>
    queue.run(needs(by), async () => {
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
  const running = queue.run(needs(null), () => promise);
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

describe('with time that passes', () => {
  /** A queue with one slot, of a database that hangs after 100 ms, and the work that holds the slot. */
  function createHanging() {
    let now = 0;
    const queue = new StatementQueue({
      ...{ slots: 1, maxWaitMs: 60_000, hangsAfterMs: 100, now: () => now },
    });
    const hold = (timeoutMs = 15_000, more: Partial<StatementNeeds> = {}) => {
      const work = Promise.withResolvers<void>();
      return { ...work, ended: queue.run(needs(null, { timeoutMs, ...more }), () => work.promise) };
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

  it('waiting does not count while the database answers others', async () => {
    const { queue, hold, pass } = createHanging();
    const first = hold();
    const second = hold();
    const waiting = queue.run(needs(null, { timeoutMs: 200 }), left);
    pass(190);
    first.resolve();
    await first.ended;
    pass(190);
    second.resolve();
    await second.ended;
    expect(await waiting).toBe(200);
  });

  it('waiting does not count while a statement runs that may take longer than usual', async () => {
    const { queue, hold, pass } = createHanging();
    const long = hold(60_000);
    const waiting = queue.run(needs(null, { timeoutMs: 200 }), left);
    pass(50_000);
    long.resolve();
    await long.ended;
    expect(await waiting).toBe(200);
  });

  it('waiting counts while it answers nobody', async () => {
    const { queue, hold, pass } = createHanging();
    const hanging = hold();
    const waiting = queue.run(needs(null, { timeoutMs: 200 }), left);
    const patient = queue.run(needs(null, { timeoutMs: 1_000 }), left);
    const short = queue.run(needs(null, { timeoutMs: 10 }), left);
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

  describe('a running statement that can give way', () => {
    function createSearch() {
      const { queue, hold, pass } = createHanging();
      const giveWay = vi.fn();
      const search = hold(15_000, { caller: caller('a'), giveWay });
      const waiting: Promise<unknown>[] = [];
      const wait = (by: Caller | null) => waiting.push(queue.run(needs(by), left));
      const end = async () => {
        search.resolve();
        await search.ended;
        await Promise.all(waiting);
      };
      return { giveWay, wait, pass, end };
    }

    it('does so after 250 ms while another caller waits, and again until it has ended', async () => {
      const { giveWay, wait, pass, end } = createSearch();
      wait(caller('b'));
      pass(249);
      expect(giveWay).not.toHaveBeenCalled();
      pass(1);
      expect(giveWay).toHaveBeenCalledTimes(1);
      pass(10);
      expect(giveWay).toHaveBeenCalledTimes(2);
      await end();
      pass(1_000);
      expect(giveWay).toHaveBeenCalledTimes(2);
    });

    it('does so as soon as another comes, if it has had its time', async () => {
      const { giveWay, wait, pass, end } = createSearch();
      pass(400);
      wait(caller('b'));
      expect(giveWay).not.toHaveBeenCalled();
      pass(10);
      expect(giveWay).toHaveBeenCalledTimes(1);
      await end();
    });

    it('shares these 250 ms with those of its caller that wait, but has at least 25 ms', async () => {
      const few = createSearch();
      few.wait(caller('b'));
      for (let n = 0; n < 4; n++) few.wait(caller('a'));
      few.pass(49);
      expect(few.giveWay).not.toHaveBeenCalled();
      few.pass(1);
      expect(few.giveWay).toHaveBeenCalledTimes(1);
      await few.end();
      const many = createSearch();
      many.wait(caller('b'));
      for (let n = 0; n < MAX_WAITING_PER_CALLER; n++) many.wait(caller('a'));
      many.pass(24);
      expect(many.giveWay).not.toHaveBeenCalled();
      many.pass(1);
      expect(many.giveWay).toHaveBeenCalledTimes(1);
      await many.end();
    });

    it('keeps its time while only its caller or the process itself waits', async () => {
      const { giveWay, wait, pass, end } = createSearch();
      wait(caller('a'));
      wait(null);
      pass(10_000);
      expect(giveWay).not.toHaveBeenCalled();
      await end();
    });
  });
});
